// Package oracle drives Kubernetes' own HPA controller and replica calculator with
// pkg/algorithm's types, so that a test can put the same question to both.
package oracle
