package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// triggerTypeKey is what sourceKey is in a StabilizedMetric.
var triggerTypeKey = metadata.Key{Name: "type", Required: true, Meaning: sourceKey.Meaning}

// ParseMetric always returns the policy of a StabilizedMetric. own are its Dashpot keys,
// as they would stand in a trigger's metadata; triggers the metadata of each of its
// triggers, their types under the key type; secrets the entries of each one's Secret, nil
// where it has none. What is wrong is in Invalid, as with Parse; a problem of a trigger
// begins with triggers[0]. A trigger's size counts with what it takes from its Secret and
// with its type.
func (p Parser) ParseMetric(name string, own map[string]string, triggers, secrets []map[string]string) *scaling.Policy {
	m := metadata.New(own)
	policy := parseOwn(m)
	policy.Metric, policy.Record, policy.Target = name, name, one
	for i, values := range triggers {
		p.parseTrigger(m, fmt.Sprintf("triggers[%d]", i), values, secrets[i], policy)
	}
	if len(triggers) == 0 {
		m.Conflict("triggers: must have at least one entry")
	}
	parseInterval(m, policy)
	if !policy.Stabilised() && (m.Has(minKey) || m.Has(maxKey)) {
		m.Warn("minReplicaCount and maxReplicaCount: no effect without behavior")
	}
	warnShadow(m, policy)
	m.FinishStrict(metricKeys())
	return finished(m, policy)
}

func (p Parser) parseTrigger(m *metadata.Map, path string, values, secret map[string]string, policy *scaling.Policy) {
	known := p.Sources.Keys(values[triggerTypeKey.Name])
	values = maps.Clone(values)
	both := takeSecret(values, secret, known)
	nameForSource(values, known)
	entries := m.Nested(path, values)
	if size := sizeOf(values); size > maxMetadata {
		of := ""
		if len(secret) > 0 {
			of = " (with those of its Secret)"
		}
		entries.Conflict(tooLarge+of, size, maxMetadata)
		return
	}
	for _, name := range both {
		entries.Conflict("%s: stands in the metadata and in the Secret; leave it in one of them", name)
	}
	refuseEnvironment(entries, values)
	_, keys := p.parseSource(entries, triggerTypeKey, policy)
	entries.Finish([]metadata.Key{triggerTypeKey}, keys)
}

// takeSecret adds to a trigger's metadata the entries of its Secret that are credentials
// of its type. What else is in it is not taken, for a Secret may serve others too, and
// what is read and where, such as a host, shows in every message. It returns the entries
// that the metadata has too, whatever their values: to compare them would let whoever may
// write the metadata guess at the Secret.
func takeSecret(values, secret map[string]string, known []metadata.Key) (both []string) {
	for _, k := range known {
		if !k.Secret {
			continue
		}
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			value, ok := secret[name]
			if !ok {
				continue
			}
			if _, given := values[name]; given {
				both = append(both, name)
				continue
			}
			values[name] = value
		}
	}
	return both
}

// nameForSource gives the keys that KEDA's external scaler would read itself the names
// that they have behind it, where the trigger type has them.
func nameForSource(values map[string]string, known []metadata.Key) {
	for _, k := range kedaKeys() {
		behind := "source." + k.Name
		value, ok := values[k.Name]
		_, both := values[behind]
		if ok && !both && slices.ContainsFunc(known, func(k metadata.Key) bool { return k.Name == behind }) {
			delete(values, k.Name)
			values[behind] = value
		}
	}
}

// refuseEnvironment finds the keys that KEDA would take from the environment of the scale
// target. Without it a password would be missing, and the source be read without.
func refuseEnvironment(m *metadata.Map, values map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if plain, ok := strings.CutSuffix(name, "FromEnv"); ok {
			m.Conflict("%s: there is no environment to take it from; set %s here, or in the Secret of secretRef if it is a credential", name, plain)
		}
	}
}
