package cluster

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// stabilizedMetric is what is used of a StabilizedMetric: all but its status.
type stabilizedMetric struct {
	// ObjectMeta is the identity with generation and labels.
	metav1.ObjectMeta
	// problem is why the spec could not be read; nil for every object that the API
	// server has validated.
	problem error
	spec    v1alpha1.Spec
}

// newStabilizedMetric reads a StabilizedMetric. One that cannot be read is kept with its
// problem: failing here would stop the informer for all of them. The spec goes through
// JSON, which says so where a number is too large; the unstructured converter lets it
// wrap around.
func newStabilizedMetric(u *unstructured.Unstructured) *stabilizedMetric {
	m := &stabilizedMetric{ObjectMeta: identity(u)}
	m.Generation, m.Labels = u.GetGeneration(), u.GetLabels()
	spec, ok := u.Object["spec"]
	if !ok {
		m.problem = errors.New("spec: is missing")
		return m
	}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &m.spec)
	}
	if err != nil {
		m.problem = fmt.Errorf("spec: %w", err)
		m.spec = v1alpha1.Spec{}
	}
	return m
}

// same reports whether nothing that is used has changed; most changes of an object are
// of its status. The API server counts the generation up with every change of the spec.
func (m *stabilizedMetric) same(other *stabilizedMetric) bool {
	return m.UID == other.UID && m.Generation == other.Generation && maps.Equal(m.Labels, other.Labels)
}

// secretNames are the Secrets that the triggers name, each once, in order.
func (m *stabilizedMetric) secretNames() []string {
	var names []string
	for _, t := range m.spec.Triggers {
		if t.SecretRef != nil && !slices.Contains(names, t.SecretRef.Name) {
			names = append(names, t.SecretRef.Name)
		}
	}
	return names
}

// recipe is all that a policy is made of.
type recipe struct {
	own map[string]string
	// triggers and secrets are of each trigger its metadata and what its Secret adds.
	triggers, secrets []map[string]string
	// problems is what the parser cannot see: it gets texts only.
	problems []string
	// unreadable: the problem is the object itself, and all else that is wrong would
	// follow from it.
	unreadable bool
}

// recipeOf is the recipe of an object with the Secrets it names.
func recipeOf(m *stabilizedMetric, found secrets) recipe {
	if m.problem != nil {
		return recipe{unreadable: true, problems: []string{oneLine(m.problem)}}
	}
	r := recipe{own: m.spec.Own()}
	for i, t := range m.spec.Triggers {
		var entries map[string]string
		if t.SecretRef != nil {
			entries = texts(found.entries[t.SecretRef.Name])
			if reason := found.missing[t.SecretRef.Name]; reason != "" {
				r.problems = append(r.problems, fmt.Sprintf("triggers[%d].secretRef.name: %s", i, reason))
			}
		}
		if _, given := t.Metadata["type"]; given && isOfPods(t.Type) { // which t.Values leaves no trace of
			r.problems = append(r.problems, fmt.Sprintf("triggers[%d].metadata.type: no longer a key, in KEDA either; set metricType", i))
		}
		r.triggers, r.secrets = append(r.triggers, t.Values()), append(r.secrets, entries)
	}
	return r
}

func texts(entries map[string][]byte) map[string]string {
	read := make(map[string]string, len(entries))
	for key, value := range entries {
		read[key] = string(value)
	}
	return read
}

// digest tells recipes apart without keeping what is secret in them.
func (r recipe) digest() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", r.own, r.triggers, r.secrets, r.problems))
}

// policy parses the recipe. It always returns a policy; what is wrong is in its Invalid.
func (r recipe) policy(parser PolicyParser, name string) *scaling.Policy {
	policy := parser.ParseMetric(name, r.own, r.triggers, r.secrets)
	if len(r.problems) == 0 {
		return policy
	}
	problems := r.problems
	if policy.Invalid != nil && !r.unreadable {
		found := strings.TrimPrefix(oneLine(policy.Invalid), scaling.ErrBadPolicy.Error()+": ")
		problems = append(slices.Clone(problems), found)
	}
	refused := *policy
	refused.Invalid = fmt.Errorf("%w: %s", scaling.ErrBadPolicy, strings.Join(problems, "; "))
	return &refused
}
