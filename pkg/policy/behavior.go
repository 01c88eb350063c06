package policy

import (
	"fmt"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// parseBehavior reads behavior, nil if it is not given. As soon as it is, both
// directions are complete: an absent field takes the API server's default, and so
// does an absent direction.
func parseBehavior(m *metadata.Map) *algorithm.Behavior {
	if !m.Has(behaviorKey) {
		return nil
	}
	entries := nested(m, behaviorKey)
	return &algorithm.Behavior{
		ScaleUp:   parseRules(entries, scaleUpKey),
		ScaleDown: parseRules(entries, scaleDownKey),
	}
}

func parseRules(m *metadata.Map, direction metadata.Key) algorithm.Rules {
	entries := nested(m, direction)
	window, policies := direction.Fields[0], direction.Fields[2]
	return algorithm.Rules{
		Window:    time.Duration(entries.Whole(window)) * time.Second,
		Select:    algorithm.SelectPolicy(entries.Text(selectKey)),
		Policies:  parseRatePolicies(entries, policies),
		Tolerance: parseTolerance(entries),
	}
}

func parseRatePolicies(m *metadata.Map, key metadata.Key) []algorithm.RatePolicy {
	items, err := list(m.Text(key))
	if err != nil {
		m.Problem(key, err.Error())
		return nil
	}
	policies := make([]algorithm.RatePolicy, len(items))
	for i, item := range items {
		name := fmt.Sprintf("%s[%d]", key.Name, i)
		fields, err := mapping(item)
		if err != nil {
			m.Conflict("%s: must be a mapping of type, value and periodSeconds (%v)", name, err)
			continue
		}
		entries := m.Nested(name, fields)
		policies[i] = algorithm.RatePolicy{
			Type:   algorithm.PolicyType(entries.Text(typeKey)),
			Value:  entries.Whole(valueKey),
			Period: time.Duration(entries.Whole(periodKey)) * time.Second,
		}
		entries.FinishStrict(key.Fields)
	}
	return policies
}

// parseFallback reads fallback, nil if it is not given.
func parseFallback(m *metadata.Map) *scaling.Fallback {
	if !m.Has(fallbackKey) {
		return nil
	}
	entries := nested(m, fallbackKey)
	return &scaling.Fallback{
		After:    entries.Seconds(afterKey),
		Replicas: entries.Whole(replicasKey),
		Static:   entries.Text(fallbackBehaviorKey) == fallbackStatic,
	}
}

// nested opens the mapping that a key holds; an absent one is empty. What is in it
// beyond the key's fields is a problem.
func nested(m *metadata.Map, key metadata.Key) *metadata.Map {
	var entries map[string]string
	if m.Has(key) {
		var err error
		if entries, err = mapping(m.Text(key)); err != nil {
			m.Problem(key, err.Error())
			entries = nil
		}
	}
	inside := m.Nested(key.Name, entries)
	inside.FinishStrict(key.Fields)
	return inside
}
