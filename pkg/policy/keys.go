package policy

import (
	"strconv"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// maxCount is the largest count of replicas, pods or percent in a policy. It keeps
// sums of counts far from overflow, and a count times a target too: 1,000,000
// replicas at the largest target that a trigger may have, 10^9, are 10^18
// thousandths, and an int64 holds nine times that.
const maxCount = 1_000_000

const day = 24 * 60 * 60

var (
	sourceKey = metadata.Key{
		Name: "source", Required: true,
		Meaning: "What to read: the type that the trigger has in KEDA.",
	}
	behaviorKey = metadata.Key{
		Name: "behavior", Kind: metadata.Mapping, Fields: []metadata.Key{scaleUpKey, scaleDownKey},
		Meaning: "Windows, rate policies and tolerances as in autoscaling/v2, kept by Dashpot. {} means the defaults of all. Without it the HPA's own apply.",
	}
	cooldownKey = metadata.Key{
		Name: "cooldownPeriod", Kind: metadata.Seconds, Range: metadata.Range{Min: 0, Max: 30 * day}, Default: "300",
		Meaning: "How long after the last active reading the workload is kept awake. Only with behavior.",
	}
	intervalKey = metadata.Key{
		Name: "interval", Kind: metadata.Seconds, Range: metadata.Range{Min: 1, Max: 300},
		Meaning: "How old a reading may be before the source is read again. By default the source's own interval, 5 for Redis.",
	}
	minKey = metadata.Key{
		Name: "minReplicaCount", Kind: metadata.Whole, Range: metadata.Range{Min: 0, Max: maxCount},
		Meaning: "Narrows the ScaledObject's minReplicaCount. Only with behavior.",
	}
	maxKey = metadata.Key{
		Name: "maxReplicaCount", Kind: metadata.Whole, Range: metadata.Range{Min: 1, Max: maxCount},
		Meaning: "Narrows the ScaledObject's maxReplicaCount. Only with behavior.",
	}
	metricNameKey = metadata.Key{
		Name:    "metricName",
		Format:  "a name without control characters (each of / . : % ( ) becomes a dash)",
		Meaning: "The metric's name as the HPA sees it. By default that of KEDA's own scaler, such as redis-LIST.",
	}
	fallbackKey = metadata.Key{
		Name: "fallback", Kind: metadata.Mapping, Fields: []metadata.Key{afterKey, replicasKey, fallbackBehaviorKey},
		Meaning: "What to recommend once the source has failed for long.",
	}
	metricKey = metadata.Key{
		Name: "metric", Format: "the name of a StabilizedMetric of the ScaledObject's namespace",
		Meaning: "Follow the policy of this StabilizedMetric. Only metricName may stand beside it.",
	}
	shadowKey = metadata.Key{
		Name: "shadow", Kind: metadata.Flag, Default: "false",
		Meaning: "Decide by behavior and report it, but send what would be sent without behavior.",
	}
)

// The entries of behavior. Their defaults are those of the API server.
var (
	scaleUpKey = metadata.Key{
		Name: "scaleUp", Kind: metadata.Mapping, Fields: ruleKeys(0, "[{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]"),
		Meaning: "How the workload may grow.",
	}
	scaleDownKey = metadata.Key{
		Name: "scaleDown", Kind: metadata.Mapping, Fields: ruleKeys(300, "[{type: Percent, value: 100, periodSeconds: 15}]"),
		Meaning: "How the workload may shrink.",
	}
	selectKey = metadata.Key{
		Name:    "selectPolicy",
		Choices: []string{string(algorithm.SelectMax), string(algorithm.SelectMin), string(algorithm.SelectDisabled)},
		Default: string(algorithm.SelectMax),
		Meaning: "Which of several policies decides: the one that allows the largest change, the smallest, or no change at all.",
	}
	toleranceKey = metadata.Key{
		Name: "tolerance", Format: "a number or quantity from 0 to 1000000, such as 0.1 or 100m", Default: "0.1",
		Meaning: "How far the reading may be off the target before anything happens, as a fraction.",
	}
	typeKey = metadata.Key{
		Name: "type", Choices: []string{string(algorithm.PodsPolicy), string(algorithm.PercentPolicy)}, Required: true,
		Meaning: "The unit of value.",
	}
	valueKey = metadata.Key{
		Name: "value", Kind: metadata.Whole, Range: metadata.Range{Min: 1, Max: maxCount}, Required: true,
		Meaning: "How many pods, or percent of the count at the period's start, the count may change per period.",
	}
	periodKey = metadata.Key{
		Name: "periodSeconds", Kind: metadata.Whole, Range: metadata.Range{Min: 1, Max: 1800}, Required: true,
		Meaning: "The period's length in seconds.",
	}
)

// The entries of fallback.
var (
	afterKey = metadata.Key{
		Name: "after", Kind: metadata.Seconds, Range: metadata.Range{Min: 1, Max: day}, Required: true,
		Meaning: "How long readings must have failed.",
	}
	replicasKey = metadata.Key{
		Name: "replicas", Kind: metadata.Whole, Range: metadata.Range{Min: 0, Max: maxCount}, Required: true,
		Meaning: "The count to recommend then.",
	}
	fallbackBehaviorKey = metadata.Key{
		Name: "behavior", Choices: []string{fallbackRaises, fallbackStatic}, Default: fallbackRaises,
		Meaning: "Whether replicas only raises the present count or replaces it.",
	}
)

// KEDA's words for the two fallbacks that there are.
const (
	fallbackRaises = "currentReplicasIfHigher"
	fallbackStatic = "static"
)

// Keys are Dashpot's own keys in a trigger's metadata.
func Keys() []metadata.Key {
	return []metadata.Key{
		sourceKey, behaviorKey, cooldownKey, intervalKey, minKey, maxKey, metricNameKey, fallbackKey, shadowKey, metricKey,
	}
}

// metricKeys are those of a StabilizedMetric.
func metricKeys() []metadata.Key {
	return []metadata.Key{behaviorKey, cooldownKey, intervalKey, minKey, maxKey, fallbackKey, shadowKey}
}

// kedaKeys are those that KEDA's external scaler reads itself, and passes on all
// the same.
func kedaKeys() []metadata.Key {
	return []metadata.Key{
		{Name: "scalerAddress"}, {Name: "enableTLS"}, {Name: "unsafeSsl"},
		{Name: "caCert"}, {Name: "tlsClientCert"}, {Name: "tlsClientKey"},
	}
}

// misplaced are keys of KEDA that are often written into a trigger's metadata,
// where KEDA ignores them too.
var (
	scaledObjectKeys = []metadata.Key{{Name: "pollingInterval"}, {Name: "idleReplicaCount"}, {Name: "initialCooldownPeriod"}}
	metricTypeKey    = metadata.Key{Name: "metricType"}
	// removedTypeKey is what metricType was called in the metadata of cpu and memory.
	removedTypeKey = metadata.Key{Name: "type"}
)

func windowKey(seconds int) metadata.Key {
	return metadata.Key{
		Name: "stabilizationWindowSeconds", Kind: metadata.Whole, Range: metadata.Range{Min: 0, Max: 3600}, Default: strconv.Itoa(seconds),
		Meaning: "How long the most cautious recommendation holds the count.",
	}
}

func policiesKey(fallback string) metadata.Key {
	return metadata.Key{
		Name: "policies", Kind: metadata.List, Default: fallback, Fields: []metadata.Key{typeKey, valueKey, periodKey},
		Meaning: "How fast the count may change.",
	}
}

// ruleKeys are the entries of one direction.
func ruleKeys(window int, policies string) []metadata.Key {
	return []metadata.Key{windowKey(window), selectKey, policiesKey(policies), toleranceKey}
}
