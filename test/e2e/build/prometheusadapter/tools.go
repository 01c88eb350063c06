//go:build tools

// Package prometheusadapter pins the prometheus-adapter of the end-to-end tests. It is a
// module of its own because it is built on a Kubernetes of years ago.
//
// The build tag is never set in a build; it only lets "go mod tidy" see the import of
// this main package.
package prometheusadapter

import _ "sigs.k8s.io/prometheus-adapter/cmd/adapter"
