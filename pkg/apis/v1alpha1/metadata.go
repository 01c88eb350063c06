package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sourceKey is the key under which a trigger's type stands among its values, as it does
// in the metadata of a KEDA trigger that is answered by Dashpot.
const sourceKey = "source"

// Own returns all of the spec that is not a trigger as the texts that would stand in a
// KEDA trigger's metadata: counts and seconds as decimals, behavior and fallback as
// JSON. A field that is not given has no key.
func (s *Spec) Own() map[string]string {
	own := map[string]string{}
	for key, n := range map[string]*int32{
		"cooldownPeriod":  s.CooldownPeriod,
		"interval":        s.Interval,
		"minReplicaCount": s.MinReplicaCount,
		"maxReplicaCount": s.MaxReplicaCount,
	} {
		if n != nil {
			own[key] = strconv.Itoa(int(*n))
		}
	}
	if s.Behavior != nil {
		own["behavior"] = text(s.Behavior)
	}
	if s.Fallback != nil {
		own["fallback"] = text(s.Fallback)
	}
	if s.Shadow {
		own["shadow"] = "true"
	}
	return own
}

// Values returns the trigger's metadata with its type under the key source, and with
// the entries of its Secret, which is nil if it has none. A value of the Secret loses
// the line feeds at its end: a Secret made from a file often has one, and no password
// or token does.
//
// It is an error if a key stands in both, even with the same value: to compare them
// would let whoever may write the metadata guess at the Secret. It is an error too if
// either has the key source. The error is one, names every such key and no value, and
// begins with metadata or secretRef, so that triggers[0] and a point fit before it. The
// values are usable all the same; of two, they have the metadata's.
func (t *Trigger) Values(secret map[string][]byte) (map[string]string, error) {
	values := make(map[string]string, len(t.Metadata)+len(secret)+1)
	for key, value := range secret {
		values[key] = strings.TrimRight(string(value), "\r\n")
	}
	maps.Copy(values, t.Metadata)
	values[sourceKey] = t.Type
	return values, t.conflict(secret)
}

// conflict says what is wrong between metadata, Secret and type.
func (t *Trigger) conflict(secret map[string][]byte) error {
	var problems []string
	if _, ok := t.Metadata[sourceKey]; ok {
		problems = append(problems, "metadata.source: must not be given, as type says what to read")
	}
	if _, ok := secret[sourceKey]; ok {
		problems = append(problems, fmt.Sprintf("secretRef: the Secret %s must not have an entry source, as type says what to read", t.SecretRef.name()))
	}
	var both []string
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		if _, ok := secret[key]; ok && key != sourceKey {
			both = append(both, key)
		}
	}
	if len(both) > 0 {
		problems = append(problems, fmt.Sprintf("metadata: %s must stand either here or in the Secret %s, not in both", strings.Join(both, ", "), t.SecretRef.name()))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

func (r *SecretReference) name() string {
	if r == nil {
		return ""
	}
	return r.Name
}

// text is a value as JSON, which is YAML too.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil { // plain numbers and texts always have a form
		panic(err)
	}
	return string(encoded)
}
