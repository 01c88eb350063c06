//go:build e2e

package e2e

import "github.com/dashpot-project/dashpot/test/e2e/cluster/podusage"

const (
	utilization  = "Utilization"
	averageValue = "AverageValue"
)

// usageCases has every key of the trigger types. A pod requests 200m and 200Mi, half of it
// for each of its containers worker and log.
func usageCases() []usageCase {
	var cases []usageCase
	for _, list := range [][]usageCase{usageKeys(), usageRefused(), usageOfPods(), usageAtZero()} {
		cases = append(cases, list...)
	}
	return cases
}

// usageOf is a case that begins with 2 replicas.
func usageOf(name, kind, metricType, value string, steps ...usageStep) usageCase {
	return usageCase{
		name: name, kind: kind, metricType: metricType, metadata: map[string]string{"value": value},
		from: 2, min: 1, steps: steps,
	}
}

// in is the case for one container.
func (c usageCase) in(container string) usageCase {
	c.metadata["containerName"] = container
	return c
}

// usageKeys are all that can be asked.
func usageKeys() []usageCase {
	step := func(want int32, l podusage.Load) usageStep { return usageStep{l, want} }
	return []usageCase{
		usageOf("utilization", "cpu", utilization, "50", step(6, podusage.Load{CPU: 600}), step(4, podusage.Load{CPU: 350})),
		usageOf("utilization-above-100", "cpu", utilization, "150", step(3, podusage.Load{CPU: 900})),
		usageOf("average", "cpu", averageValue, "80m", step(5, podusage.Load{CPU: 400})),
		usageOf("average-in-cores", "cpu", averageValue, "0.08", step(5, podusage.Load{CPU: 400})),
		usageOf("container", "cpu", utilization, "50", step(6, podusage.Load{CPU: 300, Sidecar: 400})).in("worker"),
		usageOf("container-average", "cpu", averageValue, "50m", step(7, podusage.Load{CPU: 100, Sidecar: 350})).in("log"),
		usageOf("memory-utilization", "memory", utilization, "50", step(5, podusage.Load{CPU: 900, Memory: 500})),
		usageOf("memory-average", "memory", averageValue, "64Mi", step(4, podusage.Load{CPU: 900, Memory: 256})),
		usageOf("memory-in-bytes", "memory", averageValue, "67108864", step(4, podusage.Load{Memory: 256})),
		usageOf("memory-container", "memory", utilization, "50", step(4, podusage.Load{Memory: 900, Sidecar: 200})).in("log"),
		// 54 % are within a tenth of 50 %.
		usageOf("tolerance", "cpu", utilization, "50", step(2, podusage.Load{CPU: 218})),
		// 11 pods at 44 % are 10, which is within a tenth of 11 for whoever is told 10.
		usageOf("eleven-to-ten", "cpu", utilization, "50", step(11, podusage.Load{CPU: 1100}), step(10, podusage.Load{CPU: 979})),
	}
}

// usageRefused are triggers that leave the count where it is, at least in KEDA.
func usageRefused() []usageCase {
	held := usageStep{podusage.Load{CPU: 600}, 2}
	refused := func(name, metricType, value, says string) usageCase {
		c := usageOf(name, "cpu", metricType, value, held)
		c.says = says
		return c
	}
	absent := refused("value-missing", utilization, "", "value")
	delete(absent.metadata, "value")
	typed := refused("type", "", "50", "type: no longer a key")
	typed.metadata["type"] = utilization
	bare := refused("request-missing", utilization, "50", "has no request for cpu")
	bare.bare = true
	untyped := refused("metric-type-missing", "", "50", "")
	untyped.differs, untyped.reason = 6, "Utilization by default"
	return []usageCase{
		absent, typed, bare, untyped,
		refused("value-word", utilization, "many", "whole number of percent"),
		refused("value-percent", utilization, "50%", "whole number of percent"),
		refused("value-half", utilization, "50.5", "whole number of percent"),
		refused("value-quantity", utilization, "100m", "whole number of percent"),
		refused("value-0", utilization, "0", "whole number of percent"),
		refused("average-0", averageValue, "0", "quantity from 1m"),
		refused("average-below-0", averageValue, "-80m", "quantity from 1m"),
		refused("metric-type-value", "Value", "50", "metricType"),
		refused("no-such-container", utilization, "50", "has no container").in("db"),
	}
}

// usageOfPods have pods that do not count as others do.
func usageOfPods() []usageCase {
	return []usageCase{usageOf(
		"missing-and-unready", "cpu", utilization, "50",
		usageStep{podusage.Load{CPU: 400}, 4},
		// 3 of 4 pods use 165m each; with 0 for the fourth it is 61 %: 1.22 x 4 = 4.88.
		usageStep{podusage.Load{CPU: 660, Missing: 1}, 5},
		// 4 of 5 pods use 24m each; with 200m for the fifth it is 29 %: 0.58 x 5 = 2.9.
		usageStep{podusage.Load{CPU: 120, Missing: 1}, 3},
		// At 6, the 5 that are ready use 120m each, and would be 8 without the sixth.
		usageStep{podusage.Load{CPU: 600, Unready: 1}, 6},
		usageStep{podusage.Load{CPU: 120, Unready: 1}, 2},
		usageStep{podusage.Load{CPU: 800}, 8},
		usageStep{podusage.Load{}, 1},
	)}
}

// usageAtZero are about zero: to KEDA, what pods use wakes and keeps awake nobody who has
// another trigger, and who has none does not sleep.
func usageAtZero() []usageCase {
	alone := usageOf("alone-from-0", "cpu", utilization, "50", usageStep{podusage.Load{CPU: 400}, 4}, usageStep{podusage.Load{}, 1})
	alone.from, alone.min = 0, 0
	window := func(start, end string) map[string]string {
		return map[string]string{"timezone": "UTC", "start": start, "end": end, "desiredReplicas": "3"}
	}
	open := usageOf("beside-an-open-window", "cpu", utilization, "50", usageStep{podusage.Load{CPU: 600}, 6}, usageStep{podusage.Load{}, 3})
	open.cron, open.min = window(leapDay, everyMinute), 0
	shut := usageOf("beside-a-shut-window", "cpu", utilization, "50", usageStep{podusage.Load{CPU: 600}, 0})
	shut.cron, shut.min = window(everyMinute, leapDay), 0
	return []usageCase{alone, open, shut}
}
