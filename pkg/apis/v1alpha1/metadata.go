package v1alpha1

import (
	"encoding/json"
	"maps"
	"strconv"
)

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

// Values returns the trigger's metadata with its type under the key type.
func (t *Trigger) Values() map[string]string {
	values := make(map[string]string, len(t.Metadata)+1)
	maps.Copy(values, t.Metadata)
	values["type"] = t.Type
	return values
}

// text is a value as JSON, which is YAML too.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil { // plain numbers and texts always have a form
		panic(err)
	}
	return string(encoded)
}
