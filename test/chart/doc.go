// Package chart tests charts/dashpot with Helm itself: what it renders, what it refuses,
// and, with the tag e2e, that a real API server takes it. It is a module of its own, so that
// nobody who uses Dashpot depends on Helm.
package chart
