//go:build tools

// Package crds pins the custom resource definitions of cert-manager and of the Prometheus
// Operator, which lie in their modules beside the code. It is a module of its own, so that
// the chart's tests do not depend on either.
//
// The build tag is never set in a build; it only lets "go mod tidy" see an import.
package crds

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
)
