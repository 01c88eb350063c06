package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/apis/v1alpha1"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// jobsTrigger is jobs as a trigger of a StabilizedMetric.
const jobsTrigger = "triggers: [{type: redis, metadata: {address: redis:6379, listName: jobs}}]\n"

// specOf reads the spec of a StabilizedMetric.
func specOf(t *testing.T, text string) v1alpha1.Spec {
	t.Helper()
	var spec v1alpha1.Spec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// parseMetric is the way from a StabilizedMetric named jobs to its policy; every trigger
// has the Secret.
func parseMetric(parser policy.Parser, spec v1alpha1.Spec, secret values) *scaling.Policy {
	var triggers, secrets []values
	for _, trigger := range spec.Triggers {
		triggers, secrets = append(triggers, trigger.Values()), append(secrets, secret)
	}
	return parser.ParseMetric("jobs", spec.Own(), triggers, secrets)
}

func newParser(tb testing.TB) policy.Parser {
	tb.Helper()
	sources := source.New(source.Options{})
	tb.Cleanup(sources.Close)
	return policy.Parser{Sources: sources}
}

// TestMetricAsTrigger: a StabilizedMetric and a KEDA trigger that say the same get the
// same policy, but for the name, and the target, which is always 1.
func TestMetricAsTrigger(t *testing.T) {
	tests := []struct {
		name, spec string
		trigger    values
	}{
		{"least", jobsTrigger, jobs(nil)},
		{
			"thresholds",
			"triggers: [{type: redis, metadata: {address: redis:6379, listName: jobs, listLength: '2.5', activationListLength: '1'}}]",
			jobs(values{"listLength": "2.5", "activationListLength": "1"}),
		},
		{"behavior of defaults", jobsTrigger + "behavior: {}", jobs(values{"behavior": "{}"})},
		{
			"behavior as the API server fills it in", jobsTrigger + `
behavior:
  scaleUp:
    {stabilizationWindowSeconds: 0, selectPolicy: Max, tolerance: "0.1",
     policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]}
  scaleDown:
    {stabilizationWindowSeconds: 300, selectPolicy: Max, tolerance: "0.1",
     policies: [{type: Percent, value: 100, periodSeconds: 15}]}
cooldownPeriod: 300
shadow: false`,
			jobs(values{"behavior": "{}"}),
		},
		{
			"behavior in full", jobsTrigger + `
behavior:
  scaleUp: {selectPolicy: Disabled}
  scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Min, tolerance: '0.57', policies: [{type: Pods, value: 1, periodSeconds: 1800}]}
cooldownPeriod: 0
interval: 300
minReplicaCount: 0
maxReplicaCount: 1000000`,
			jobs(values{
				"behavior":       "{scaleUp: {selectPolicy: Disabled}, scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Min, tolerance: 0.57, policies: [{type: Pods, value: 1, periodSeconds: 1800}]}}",
				"cooldownPeriod": "0", "interval": "300", "minReplicaCount": "0", "maxReplicaCount": "1000000",
			}),
		},
		{"one direction", jobsTrigger + "behavior: {scaleDown: {stabilizationWindowSeconds: 60}}", jobs(values{"behavior": "{scaleDown: {stabilizationWindowSeconds: 60}}"})},
		{"milli tolerance", jobsTrigger + "behavior: {scaleUp: {tolerance: 50m}}", jobs(values{"behavior": "{scaleUp: {tolerance: 0.05}}"})},
		{"fallback", jobsTrigger + "fallback: {after: 90, replicas: 3}", jobs(values{"fallback": "{after: 90s, replicas: 3}"})},
		{"static fallback of 0", jobsTrigger + "fallback: {after: 1, replicas: 0, behavior: static}", jobs(values{"fallback": "{after: 1, replicas: 0, behavior: static}"})},
		{"shadow", jobsTrigger + "behavior: {}\nshadow: true", jobs(values{"behavior": "{}", "shadow": "true"})},
		{
			"TLS of the source",
			"triggers: [{type: redis, metadata: {address: redis:6379, listName: jobs, enableTLS: 'true', unsafeSsl: 'true'}}]",
			jobs(values{"source.enableTLS": "true", "source.unsafeSsl": "true"}),
		},
	}
	parser := newParser(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, want := parseMetric(parser, specOf(t, tt.spec), nil), parser.Parse(tt.trigger)
			if got.Invalid != nil || want.Invalid != nil {
				t.Fatalf("not valid: %v; %v", got.Invalid, want.Invalid)
			}
			if got.Metric != "jobs" || got.Record != "jobs" || got.Target != 1000 {
				t.Errorf("metric %s, record %s, target %d, want jobs, jobs and 1000", got.Metric, got.Record, got.Target)
			}
			if !reflect.DeepEqual(meaningOf(got), meaningOf(want)) {
				t.Errorf("got\n%s\nwant\n%s", inFull(got), inFull(want))
			}
		})
	}
}

// meaning is all of a policy but its names, its target and what is wrong with it.
type meaning struct {
	triggers           []scaling.Trigger
	interval, cooldown time.Duration
	behavior           *algorithm.Behavior
	fallback           *scaling.Fallback
	lowest, highest    *int32
	shadow             bool
	warnings           []string
}

func meaningOf(p *scaling.Policy) meaning {
	return meaning{p.Triggers, p.Interval, p.Cooldown, p.Behavior, p.Fallback, p.Min, p.Max, p.Shadow, p.Warnings}
}

// inFull shows what a policy's pointers point to.
func inFull(p *scaling.Policy) string {
	return fmt.Sprintf("%+v\nbehavior %+v\nfallback %+v", *p, p.Behavior, p.Fallback)
}

// Of several triggers, the slowest sets the interval, and each is read by its own type.
func TestMetricOfSeveralTriggers(t *testing.T) {
	p := parseMetric(newParser(t), specOf(t, `
triggers:
- {type: redis, metadata: {address: redis:6379, listName: jobs}}
- {type: redis-streams, metadata: {address: redis:6379, stream: orders, streamLength: "7"}}`), nil)
	if p.Invalid != nil || len(p.Triggers) != 2 {
		t.Fatalf("got %d triggers, problem: %v", len(p.Triggers), p.Invalid)
	}
	if p.Triggers[0].Target != 5000 || p.Triggers[1].Target != 7000 || p.Interval != 5*time.Second {
		t.Errorf("got targets %d and %d, interval %v, want 5000, 7000 and 5s", p.Triggers[0].Target, p.Triggers[1].Target, p.Interval)
	}
}

func TestMetricProblems(t *testing.T) {
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"no trigger", "{triggers: []}", []string{"triggers: must have at least one entry"}},
		{"no type", "triggers: [{type: '', metadata: {listName: jobs, address: 'redis:6379'}}]", []string{"triggers[0].type is missing: must be one of " + types(t)}},
		{"unknown type", "triggers: [{type: redis-lists, metadata: {listName: jobs, address: 'redis:6379'}}]", []string{`triggers[0].type "redis-lists": must be one of ` + types(t) + " (did you mean redis?)"}},
		{"no list", "triggers: [{type: redis, metadata: {address: 'redis:6379'}}]", []string{"triggers[0].listName is missing: must be the name of a list, set, sorted set or hash"}},
		{"an empty list name is none", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: ''}}]", []string{"triggers[0].listName is missing: must be the name of a list, set, sorted set or hash"}},
		{"target", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, listLength: '0'}}]", []string{`triggers[0].listLength "0": must be a number from 0.001 to 1000000000`}},
		{
			"near miss in the second", jobsTrigger[:len(jobsTrigger)-2] + ", {type: redis, metadata: {address: 'redis:6379', listName: mails, listLenght: '5'}}]",
			[]string{"triggers[1].listLenght: unknown key, did you mean listLength?"},
		},
		{
			"size of the second", jobsTrigger[:len(jobsTrigger)-2] + ", {type: redis, metadata: {listName: '" + strings.Repeat("x", 64<<10) + "'}}]",
			[]string{"triggers[1].metadata has 65553 bytes in keys and values, at most 65536 are allowed"},
		},
		{"cooldown", jobsTrigger + "cooldownPeriod: -1", []string{`cooldownPeriod "-1": must be seconds, or a duration such as 90s, from 0 to 2592000 s`}},
		{"interval", jobsTrigger + "interval: 301", []string{`interval "301": must be seconds, or a duration such as 90s, from 1 to 300 s`}},
		{"interval of 0", jobsTrigger + "interval: 0", []string{`interval "0": must be seconds, or a duration such as 90s, from 1 to 300 s`}},
		{"min", jobsTrigger + "minReplicaCount: -1", []string{`minReplicaCount "-1": must be a whole number from 0 to 1000000`}},
		{"max", jobsTrigger + "maxReplicaCount: 0", []string{`maxReplicaCount "0": must be a whole number from 1 to 1000000`}},
		{"min above max", jobsTrigger + "minReplicaCount: 9\nmaxReplicaCount: 8", []string{"minReplicaCount 9: must not be above maxReplicaCount 8"}},
		{"window", jobsTrigger + "behavior: {scaleDown: {stabilizationWindowSeconds: 3601}}", []string{`behavior.scaleDown.stabilizationWindowSeconds "3601": must be a whole number from 0 to 3600`}},
		{"selectPolicy", jobsTrigger + "behavior: {scaleUp: {selectPolicy: max}}", []string{`behavior.scaleUp.selectPolicy "max": must be one of Max, Min, Disabled`}},
		{"tolerance", jobsTrigger + "behavior: {scaleUp: {tolerance: '-0.1'}}", []string{`behavior.scaleUp.tolerance "-0.1": must be a number or quantity from 0 to 1000000, such as 0.1 or 100m`}},
		{"large tolerance", jobsTrigger + "behavior: {scaleUp: {tolerance: 2M}}", []string{`behavior.scaleUp.tolerance "2M": must be a number or quantity from 0 to 1000000, such as 0.1 or 100m`}},
		{"policy", jobsTrigger + "behavior: {scaleUp: {policies: [{type: pods, value: 0, periodSeconds: 1801}]}}", []string{
			`behavior.scaleUp.policies[0].type "pods": must be one of Pods, Percent`,
			`behavior.scaleUp.policies[0].value "0": must be a whole number from 1 to 1000000`,
			`behavior.scaleUp.policies[0].periodSeconds "1801": must be a whole number from 1 to 1800`,
		}},
		{"fallback", jobsTrigger + "fallback: {after: 86401, replicas: -1, behavior: triggerSuccess}", []string{
			`fallback.after "86401": must be seconds, or a duration such as 90s, from 1 to 86400 s`,
			`fallback.replicas "-1": must be a whole number from 0 to 1000000`,
			`fallback.behavior "triggerSuccess": must be one of currentReplicasIfHigher, static`,
		}},
	}
	parser := newParser(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parseMetric(parser, specOf(t, tt.spec), nil)
			wantProblems(t, p, tt.want)
			checkNameAndTarget(t, p)
		})
	}
}

// types are the known ones as a message lists them.
func types(t *testing.T) string {
	t.Helper()
	return strings.Join(newParser(t).Sources.Types(), ", ")
}

// TestMetricSecrets: of a Secret's entries those count that have a meaning to the trigger,
// and none is shown.
func TestMetricSecrets(t *testing.T) {
	const queue = "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs}}]"
	tests := []struct {
		name, spec string
		secret     values
		problems   []string
	}{
		{"a password", queue, values{"password": "hunter2"}, nil},
		{"with the line feed of a file", queue, values{"password": "hunter2\n"}, nil}, // C44 d
		{"entries for others, one of them nearly a key", queue, values{"password": "hunter2", "pasword": "x", "tls.key": "x", "type": "x", "host": "shown", "listLength": "7"}, nil},
		{
			"in both, and even equal", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, password: hunter2}}]",
			values{"password": "hunter2"}, []string{"triggers[0].password: stands in the metadata and in the Secret; leave it in one of them"},
		},
		{
			"what shows in messages is no secret", "triggers: [{type: redis, metadata: {listName: jobs}}]", values{"address": "hunter2:1"},
			[]string{"address"},
		},
		{
			"the environment", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, passwordFromEnv: PASSWORD}}]", nil,
			[]string{"triggers[0].passwordFromEnv: there is no environment to take it from; set password here, or in the Secret of secretRef if it is a credential"},
		},
	}
	parser := newParser(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parseMetric(parser, specOf(t, tt.spec), tt.secret)
			if tt.problems != nil {
				for _, problem := range tt.problems {
					if p.Invalid == nil || !strings.Contains(p.Invalid.Error(), problem) {
						t.Errorf("got %v, want %q", p.Invalid, problem)
					}
				}
				return
			}
			want := parseMetric(parser, specOf(t, "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, password: hunter2}}]"), nil)
			if p.Invalid != nil || len(p.Warnings) > 0 || p.Triggers[0] != want.Triggers[0] {
				t.Errorf("got %+v, invalid %v, warnings %q; want the trigger with that password", p.Triggers, p.Invalid, p.Warnings)
			}
		})
	}
}

// TestMetricSize: a trigger with its Secret may have 64 KiB, as one of KEDA may with what
// KEDA takes from the environment.
func TestMetricSize(t *testing.T) {
	parser, spec := newParser(t), specOf(t, "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs}}]")
	const rest = len("type"+"redis"+"address"+"redis:6379"+"listName"+"jobs") + len("password")
	if p := parseMetric(parser, spec, values{"password": strings.Repeat("x", 64<<10-rest), "other": "is not taken"}); p.Invalid != nil {
		t.Errorf("65536 bytes: %v", p.Invalid)
	}
	wantProblems(t, parseMetric(parser, spec, values{"password": strings.Repeat("x", 64<<10-rest+1)}),
		[]string{"triggers[0].metadata has 65537 bytes in keys and values, at most 65536 are allowed (with those of its Secret)"})
}

func TestMetricWarnings(t *testing.T) {
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"none", jobsTrigger + "cooldownPeriod: 300", nil},
		{"bounds without behavior", jobsTrigger + "minReplicaCount: 1", []string{"minReplicaCount and maxReplicaCount: no effect without behavior"}},
		{"shadow of nothing", jobsTrigger + "shadow: true", []string{"shadow: does nothing without behavior"}},
		{"bounds with behavior", jobsTrigger + "minReplicaCount: 1\nbehavior: {}", nil},
		{
			"a key of no use", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, createConsumerGroup: 'yes'}}]",
			[]string{"triggers[0].createConsumerGroup: unknown key, ignored"},
		},
		{ // C26
			"metricType and keys of KEDA's other scalers", "triggers: [{type: prometheus, metadata: {serverAddress: 'http://prom', query: up, threshold: '5', metricType: Utilization, targetValue: '0', createConsumerGroup: 'yes'}}]",
			[]string{"triggers[0].createConsumerGroup: unknown key, ignored", "triggers[0].metricType: unknown key, ignored", "triggers[0].targetValue: unknown key, ignored"},
		},
		{
			"activation above target", "triggers: [{type: redis, metadata: {address: 'redis:6379', listName: jobs, activationListLength: '50'}}]",
			[]string{"triggers[0]: the activation threshold 50 is above the target 5: readings between them count as no work, however many replicas they ask for"},
		},
	}
	parser := newParser(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parseMetric(parser, specOf(t, tt.spec), nil)
			if p.Invalid != nil {
				t.Fatalf("not valid: %v", p.Invalid)
			}
			if !slices.Equal(p.Warnings, tt.want) {
				t.Errorf("got %q, want %q", p.Warnings, tt.want)
			}
		})
	}
}

// FuzzParseMetric reads specs that no API server has looked at. There is always a policy
// with a name and a target; and a policy without a problem is one that Step can follow
// through whatever happens.
func FuzzParseMetric(f *testing.F) {
	for i, spec := range []string{
		`{}`, `{"triggers":null}`, `{"triggers":[{}]}`, `[]`, `null`,
		`{"triggers":[{"type":"redis","metadata":{"address":"redis:6379","listName":"jobs"}}]}`,
		`{"triggers":[{"type":"redis","metadata":{"address":"redis:6379"}}],"behavior":{}}`,
		`{"triggers":[{"type":"redis","metadata":{"listName":"jobs","host":"redis","port":"6379"}},{"type":"redis-streams","metadata":{"address":"a:1,b:2","stream":"s"}}],"behavior":{"scaleUp":{},"scaleDown":null}}`,
		`{"triggers":[{"type":"redis","metadata":{"address":"a:1","listName":"x"}}],"behavior":{"scaleUp":{"stabilizationWindowSeconds":3600,"selectPolicy":"Min","tolerance":"1e-10","policies":[{"type":"Pods","value":1000000,"periodSeconds":1}]},"scaleDown":{"selectPolicy":"Disabled","tolerance":1000000}},"cooldownPeriod":2592000,"interval":300,"minReplicaCount":1000000,"maxReplicaCount":1000000,"fallback":{"after":1,"replicas":1000000,"behavior":"static"},"shadow":true}`,
		`{"triggers":[{"type":"redis-lists","metadata":{"source":"redis","FromEnv":"","behavior":"{}"},"secretRef":{"name":"auth"}}],"behavior":{"scaleUp":{"policies":[{}],"tolerance":"9e99"}},"minReplicaCount":-2147483648,"fallback":{}}`,
		`{"triggers":[{"type":"prometheus","metadata":{"serverAddress":"http://a","query":"up","threshold":"1"}}],"cooldownPeriod":0}`,
	} {
		f.Add(spec, "password", []byte("hunter2\n"), uint64(i))
		f.Add(spec, "listLength", []byte("0.001"), uint64(i))
	}
	parser := newParser(f)
	f.Fuzz(func(t *testing.T, text, key string, secret []byte, seed uint64) {
		var spec v1alpha1.Spec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			return // the API server's answer
		}
		p := parseMetric(parser, spec, values{key: string(secret)})
		if p.Invalid != nil && len(secret) > 8 && !strings.Contains(text+key, string(secret)) && strings.Contains(p.Invalid.Error(), string(secret)) {
			t.Errorf("a Secret's value is in a message: %v", p.Invalid)
		}
		checkNameAndTarget(t, p)
		if p.Metric != "jobs" || p.Record != "jobs" || p.Target != 1000 {
			t.Errorf("metric %q, record %q, target %d, want jobs, jobs and 1000", p.Metric, p.Record, p.Target)
		}
		switch {
		case p.Invalid == nil && len(p.Triggers) != len(spec.Triggers):
			t.Errorf("%d of %d triggers, and no problem", len(p.Triggers), len(spec.Triggers))
		case p.Invalid == nil:
			followThrough(t, p, seed)
		case !errors.Is(p.Invalid, scaling.ErrBadPolicy):
			t.Errorf("not a bad policy: %v", p.Invalid)
		}
	})
}
