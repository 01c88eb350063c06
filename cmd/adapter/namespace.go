package main

import (
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceAccountNamespace is where a pod finds the namespace that it is in.
const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is the namespace that this process runs in, as far as it can tell.
func ownNamespace(getenv func(string) string) string {
	if namespace := getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	if data, err := os.ReadFile(serviceAccountNamespace); err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data))
	}
	return metav1.NamespaceDefault
}
