// Package archtest keeps ARCHITECTURE.md true. Its test reads the module's own
// source and fails on an import that the table of [Rules] does not allow, on a
// package that the table does not list, on a clock, a lock or the network in pure
// code, and on what is too large to be read.
//
// Only what ships is checked: a _test.go file may import what it needs.
package archtest
