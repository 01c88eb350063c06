package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Sources are the trigger types that can be read.
type Sources interface {
	// Types are the names of all trigger types.
	Types() []string
	// Keys describes the metadata of one type; nil if there is no such type.
	Keys(triggerType string) []metadata.Key
	// Parse reads the metadata of one type, and reports what is wrong with it to m.
	// It returns the name that KEDA would give the metric, not yet normalised, and
	// the interval at which such a source is read by default.
	Parse(triggerType string, m *metadata.Map) (t scaling.Trigger, metric string, interval time.Duration)
}

// maxMetadata is how large a trigger's metadata may be, keys and values, in bytes. A
// PromQL query of a page is 4 KiB.
const maxMetadata = 64 << 10

// Parser makes policies of metadata. It is safe for concurrent use.
type Parser struct{ Sources Sources }

// replicasSuffix tells a metric whose value is a count of replicas from one whose
// value is a reading. When a policy is switched from one to the other, the HPA meets
// a name that it does not know, and holds, instead of a number in the wrong unit.
const replicasSuffix = "-replicas"

// one is the target of a metric that counts replicas.
const one algorithm.Milli = 1000

// Parse always returns a policy. If the metadata is wrong, its Invalid wraps
// scaling.ErrBadPolicy and names every problem; Metric and Target are then what they
// would be as far as that can be told, and never empty or 0. Metadata of more than 64 KiB
// is wrong, whatever it says, and of that nothing else is told.
func (p Parser) Parse(values map[string]string) *scaling.Policy {
	policy := p.parse(metadata.New(values))
	if size := sizeOf(values); size > maxMetadata {
		m := metadata.New(nil)
		m.Conflict(tooLarge, size, maxMetadata)
		return finished(m, policy)
	}
	return policy
}

const tooLarge = "metadata has %d bytes in keys and values, at most %d are allowed"

func sizeOf(values map[string]string) int {
	size := 0
	for key, value := range values {
		size += len(key) + len(value)
	}
	return size
}

func (p Parser) parse(m *metadata.Map) *scaling.Policy {
	if m.Has(metricKey) {
		return parseShared(m)
	}
	policy := parseOwn(m)
	metric, keys := p.parseSource(m, sourceKey, policy)
	parseInterval(m, policy)
	policy.Metric = parseMetricName(m, metric)
	policy.Record = recordName(m, policy)
	policy.Target = one
	if policy.Behavior != nil && !policy.Shadow {
		policy.Metric += replicasSuffix
	} else if len(policy.Triggers) > 0 && policy.Triggers[0].Target > 0 {
		policy.Target = policy.Triggers[0].Target
	}
	warnMisplaced(m, policy)
	checkMetricType(m, keys)
	m.Finish(Keys(), kedaKeys(), keys)

	return finished(m, policy)
}

// parseShared reads metadata that takes everything else from a StabilizedMetric. The name
// says replicas whatever the mode of that policy is: with the target 1, a reading
// becomes the count that it asks for.
func parseShared(m *metadata.Map) *scaling.Policy {
	name := m.Text(metricKey)
	policy := &scaling.Policy{Shared: name, Record: name, Target: one}
	policy.Metric = parseMetricName(m, name) + replicasSuffix
	for _, k := range Keys() {
		if k.Name != metricKey.Name && k.Name != metricNameKey.Name && m.Has(k) {
			m.Conflict("%s: must not stand beside metric, whose StabilizedMetric has the policy", k.Name)
		}
	}
	warnMisplaced(m, policy)
	checkMetricType(m, nil)
	m.Finish(Keys(), kedaKeys())
	return finished(m, policy)
}

// parseOwn reads Dashpot's own keys, but for those that need a trigger.
func parseOwn(m *metadata.Map) *scaling.Policy {
	policy := &scaling.Policy{
		Cooldown: m.Seconds(cooldownKey),
		Behavior: parseBehavior(m),
		Fallback: parseFallback(m),
		Shadow:   m.Flag(shadowKey),
	}
	parseBounds(m, policy)
	return policy
}

// finished is the policy with all that was found out about it.
func finished(m *metadata.Map, policy *scaling.Policy) *scaling.Policy {
	policy.Warnings = m.Warnings()
	if err := m.Err(); err != nil {
		policy.Invalid = fmt.Errorf("%w: %w", scaling.ErrBadPolicy, err)
	}
	return policy
}

// recordName is metricName where the user gave one, else what is read and where: two
// queues of one name on two servers are two.
func recordName(m *metadata.Map, policy *scaling.Policy) string {
	if m.Has(metricNameKey) || len(policy.Triggers) == 0 {
		return policy.Metric
	}
	return policy.Triggers[0].Query.String()
}

// parseSource reads the trigger itself, whose type stands under a key. It returns the metric's default name and the
// keys that belong in this metadata besides Dashpot's own.
func (p Parser) parseSource(m *metadata.Map, key metadata.Key, policy *scaling.Policy) (metric string, keys []metadata.Key) {
	types := p.Sources.Types()
	key.Format = "one of " + strings.Join(types, ", ")
	source := m.Text(key)
	keys = p.Sources.Keys(source)
	if keys == nil {
		if source != "" {
			m.Problem(key, suggestion(source, types))
		}
		for _, t := range types { // any of their keys may be meant
			keys = append(keys, p.Sources.Keys(t)...)
		}
		return source, keys
	}
	trigger, metric, interval := p.Sources.Parse(source, m)
	policy.Triggers, policy.Interval = append(policy.Triggers, trigger), max(policy.Interval, interval)
	if !trigger.Counts && trigger.Activation > trigger.Target.Float() {
		m.Remark("the activation threshold %v is above the target %v: readings between them count as no work, however many replicas they ask for",
			trigger.Activation, trigger.Target.Float())
	}
	return metric, keys
}

// suggestion finds the type that an unknown one most likely stands for: one that is
// nearly the same, or one that it extends or abbreviates (redis-lists).
func suggestion(source string, types []string) string {
	near := metadata.Nearest(source, types)
	for _, t := range types {
		if near == "" && (strings.HasPrefix(source, t) || strings.HasPrefix(t, source)) {
			near = t
		}
	}
	if near == "" {
		return ""
	}
	return "did you mean " + near + "?"
}

// parseInterval lets the user override the trigger type's own interval.
func parseInterval(m *metadata.Map, policy *scaling.Policy) {
	if interval := m.Seconds(intervalKey); interval > 0 {
		policy.Interval = interval
	}
}

// parseBounds reads the bounds, which count only where the windows are ours.
func parseBounds(m *metadata.Map, policy *scaling.Policy) {
	lowest, highest := bound(m, minKey), bound(m, maxKey)
	if lowest != nil && highest != nil && *highest > 0 && *lowest > *highest {
		m.Conflict("minReplicaCount %d: must not be above maxReplicaCount %d", *lowest, *highest)
	}
	if policy.Stabilised() {
		policy.Min, policy.Max = lowest, highest
	}
}

func bound(m *metadata.Map, k metadata.Key) *int32 {
	if !m.Has(k) {
		return nil
	}
	n := m.Whole(k)
	return &n
}

// parseMetricName returns a name that Kubernetes accepts, which is any that can be
// one segment of a URL's path.
func parseMetricName(m *metadata.Map, metric string) string {
	given := m.Text(metricNameKey)
	if given != "" {
		metric = given
	}
	name := kedaName.Replace(metric)
	clean := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '-'
		}
		return r
	}, name)
	switch {
	case clean == "": // the source is missing, which is reported as such
		return "unknown"
	case clean == name:
	case given != "":
		m.Problem(metricNameKey, "")
	default:
		m.Conflict("metricName: the default %q has control characters, which a metric's name must not have; set metricName", name)
	}
	return clean
}

// kedaName replaces what KEDA replaces in the metric names of its own scalers.
var kedaName = strings.NewReplacer("/", "-", ".", "-", ":", "-", "%", "-", "(", "-", ")", "-")

func warnShadow(m *metadata.Map, policy *scaling.Policy) {
	if policy.Shadow && !policy.Stabilised() {
		m.Warn("shadow: does nothing without behavior")
	}
}

// warnMisplaced names the keys that are legal somewhere else, and do nothing here.
func warnMisplaced(m *metadata.Map, policy *scaling.Policy) {
	elsewhere := scaledObjectKeys
	if !policy.Stabilised() {
		elsewhere = append([]metadata.Key{minKey, maxKey, cooldownKey}, scaledObjectKeys...)
	}
	warnShadow(m, policy)
	var names []string
	for _, k := range elsewhere {
		if m.Has(k) {
			names = append(names, k.Name)
		}
	}
	if len(names) > 0 {
		advice := "set them in the ScaledObject's spec"
		if !policy.Stabilised() {
			advice += " (minReplicaCount, maxReplicaCount and cooldownPeriod may stand here together with behavior)"
		}
		m.Warn("%s: no effect in a trigger's metadata; %s", strings.Join(names, ", "), advice)
	}
}

// checkMetricType looks for metricType where it has no effect, and where the trigger type
// has such a key, cpu and memory, for the key of which it has taken the place: without
// it, {type: AverageValue, value: "512"} would be 512 percent. keys are the trigger type's.
func checkMetricType(m *metadata.Map, keys []metadata.Key) {
	has := slices.ContainsFunc(keys, func(k metadata.Key) bool { return k.Name == metricTypeKey.Name })
	switch {
	case has && m.Has(removedTypeKey):
		m.Conflict("type: no longer a key, in KEDA either; set metricType")
	case !has && m.Has(metricTypeKey):
		m.Warn("metricType: no effect in a trigger's metadata; set it on the trigger, beside type")
	}
}
