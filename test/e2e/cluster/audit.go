package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// auditPolicy has every request of a service account written down once, with who asked for
// what and whether they may; a watch when it begins.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// Request is what somebody asked the API server for.
type Request struct {
	Verb, Group string
	// Resource has a subresource behind a slash, as in a Role: deployments/scale.
	Resource string
	// Namespace and Name are empty for what has none.
	Namespace, Name string
	// Allowed is whether they may.
	Allowed bool
}

// auditEvent is the part of a line of the audit log that says so.
type auditEvent struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
}

// Requests are all that a user has asked the API server for, each once, if
// [Options.Audit] had them written down. Requests for anything but objects are left out.
func (c *Cluster) Requests(user string) ([]Request, error) {
	content, err := os.ReadFile(c.auditLog())
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	var requests []Request
	for {
		var event auditEvent
		// The last line may be under way still.
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return requests, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if event.User.Username != user || event.ObjectRef == nil {
			continue
		}
		if r := event.request(); !slices.Contains(requests, r) {
			requests = append(requests, r)
		}
	}
}

func (e auditEvent) request() Request {
	o := e.ObjectRef
	return Request{
		Verb: e.Verb, Group: o.APIGroup, Resource: strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"),
		Namespace: o.Namespace, Name: o.Name, Allowed: e.Annotations["authorization.k8s.io/decision"] == "allow",
	}
}

func (c *Cluster) auditLog() string { return filepath.Join(c.logDir(), "audit.log") }

// auditArgs are the API server's flags for its audit log, if it is to write one.
func (c *Cluster) auditArgs() ([]string, error) {
	if !c.options.Audit {
		return nil, nil
	}
	policy := filepath.Join(c.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + c.auditLog()}, nil
}
