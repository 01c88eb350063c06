//go:build tools

// Package kubernetes pins the control plane of the end-to-end tests: its
// go.mod and go.sum name the exact sources that kube-apiserver,
// kube-controller-manager, kubectl, etcd and kwok are built from. It is a
// module of its own so that the scaler's module stays free of all of them.
//
// The build tag is never set in a build; it only lets "go mod tidy" see the
// imports of these main packages.
package kubernetes

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
