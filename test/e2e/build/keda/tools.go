//go:build tools

// Package keda pins the KEDA operator and metrics adapter of the end-to-end
// tests. It is a module of its own because KEDA is built on an older
// Kubernetes minor than the control plane next door.
//
// The build tag is never set in a build; it only lets "go mod tidy" see the
// imports of these main packages.
package keda

import (
	_ "github.com/kedacore/keda/v2/cmd/adapter"
	_ "github.com/kedacore/keda/v2/cmd/operator"
)
