package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// others are the words in the shape of keys that are somebody else's.
var others = map[string][]string{
	"Kubernetes": {
		"averageValue", "caBundle", "labelSelectorPath", "maxReplicas", "minReplicas", "subPath", "terminationGracePeriodSeconds",
		"normalizeDesiredReplicasWithBehaviors",
	},
	"KEDA's ScaledObject":  {"idleReplicaCount", "initialCooldownPeriod", "pollingInterval"},
	"KEDA's triggers":      {"scalerAddress", "enableTLS", "unsafeSsl", "metricType", "caCert", "tlsClientCert", "tlsClientKey", "authParams", "authenticationRef"},
	"KEDA's, not taken":    {"aggregateFromKubeServiceEndpoints"},
	"a StabilizedMetric's": {"secretRef"},
	"a delegates file's":   {"certFile", "keyFile", "tokenFile", "groupVersion"},
	"Helm's":               {"appVersion"},
	"prometheus-adapter's": {"externalRules"},
	"Prometheus'":          {"honorLabels", "insecureSkipVerify"},
	"this repository's":    {"testTwins"},
	"a misspelling":        {"listLenght"},
}

// TestKeysInText: a word in code font that is written as keys are is a key, or is known
// to be somebody else's.
func TestKeysInText(t *testing.T) {
	known := map[string]bool{}
	types := newTypes(t)
	for _, keys := range append([][]metadata.Key{policy.Keys()}, keysOf(types)...) {
		addNames(known, keys)
	}
	for _, name := range captures(`(?m)^[ #]*(\w+):`, read(t, "../charts/dashpot/values.yaml")) {
		known[name] = true
	}
	for _, name := range answerFields() {
		known[name] = true
	}
	for _, words := range others {
		for _, name := range words {
			known[name] = true
		}
	}
	generated := regexp.MustCompile("(?s)<!-- keys .*?<!-- end -->")
	word := regexp.MustCompile(`(?:^|[^\w.-])([a-z]+[A-Z]\w*)`)
	for _, file := range allPages(t) {
		if strings.HasPrefix(file, "../") && file != "../README.md" || strings.HasPrefix(file, "adr/") {
			continue
		}
		for _, code := range captures("`([^`\n]+)`", withoutBlocks(generated.ReplaceAllString(read(t, file), ""))) {
			for _, match := range word.FindAllStringSubmatch(code, -1) {
				name := strings.TrimSuffix(match[1], "FromEnv")
				if !known[name] {
					t.Errorf("%s speaks of a key %s; there is none", file, match[1])
				}
			}
		}
	}
}

func keysOf(types *source.Table) [][]metadata.Key {
	var all [][]metadata.Key
	for _, name := range types.Types() {
		all = append(all, types.Keys(name))
	}
	return all
}

func addNames(known map[string]bool, keys []metadata.Key) {
	for _, k := range keys {
		known[k.Name] = true
		for _, alias := range k.Aliases {
			known[alias] = true
		}
		addNames(known, k.Fields)
	}
}

// TestManifestsInText: what is shown as YAML is YAML, and the keys of its triggers are
// keys.
func TestManifestsInText(t *testing.T) {
	types := newTypes(t)
	triggers := 0
	for _, file := range allPages(t) {
		for _, block := range captures("(?sm)^ *```yaml\n(.*?)^ *```", read(t, file)) {
			for _, document := range strings.Split(block, "\n---\n") {
				var object any
				if err := yaml.Unmarshal([]byte(document), &object); err != nil {
					t.Errorf("%s: %v\n%s", file, err, document)
				}
				for _, trigger := range triggersIn(object) {
					triggers++
					checkTrigger(t, file, types, trigger)
				}
			}
		}
	}
	if triggers < 15 {
		t.Errorf("only %d triggers found", triggers)
	}
}

// triggersIn are the maps with the key metadata in a list called triggers, or in a list
// that is the whole of a block.
func triggersIn(object any) []map[string]any {
	var found []map[string]any
	switch object := object.(type) {
	case []any:
		for _, entry := range object {
			if m, ok := entry.(map[string]any); ok && m["metadata"] != nil {
				found = append(found, m)
			}
		}
	case map[string]any:
		for key, value := range object {
			if key == "triggers" || key == "spec" {
				found = append(found, triggersIn(value)...)
			}
		}
	}
	return found
}

func checkTrigger(t *testing.T, file string, types *source.Table, trigger map[string]any) {
	t.Helper()
	values, _ := trigger["metadata"].(map[string]any)
	kind, _ := values["source"].(string)
	known := map[string]bool{}
	switch plain, _ := trigger["type"].(string); plain {
	case "external", "external-push":
		addNames(known, policy.Keys())
		addNames(known, types.Keys(kind))
		for _, name := range []string{"scalerAddress", "enableTLS"} {
			known[name] = true
		}
	default:
		kind = plain
		addNames(known, types.Keys(kind))
	}
	if kind != "" && !slices.Contains(types.Types(), kind) {
		t.Errorf("%s shows a trigger of %q; there is no such type", file, kind)
	}
	for name := range values {
		if !known[strings.TrimSuffix(name, "FromEnv")] {
			t.Errorf("%s shows a trigger of %s with the key %s; there is none", file, kind, name)
		}
	}
}
