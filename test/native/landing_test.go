//go:build e2e

package native_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// seed makes testLanding repeat a run.
var seed = flag.Uint64("seed", 0, "seed of the random HPAs; 0 takes one from the clock")

const (
	landings    = 200
	largest     = 40 // of the counts before and after
	landingTime = 2 * time.Minute
)

// testLanding: whatever the count, the target and the tolerances, the HPA controller
// lands on what was decided, or the decision says why not: SwallowedByTolerance, or
// HPANotTransparent of an HPA with windows or policies of its own. It does so from a zero
// that is the HPA's own, and where not all pods can be made. Without a decision, where
// the reading is passed on, it lands where its own formula takes it.
func testLanding(t *testing.T) {
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -seed %d", number)
	w := newWorkload(t, 1)
	r := rand.New(rand.NewPCG(number, 0))
	list := make([]landing, landings)
	for i := range list {
		list[i] = randomLanding(r, i)
	}
	w.prepare(list)
	first := w.awaitVerdicts(list)
	time.Sleep(hpaSync + time.Second)
	last, count := w.awaitVerdicts(list), tally{}
	for _, l := range list {
		if first[l.name] == landed && last[l.name] != landed {
			t.Errorf("%s: had landed, and a sync later is %s", l, last[l.name])
		}
		count.add(l, last[l.name])
	}
	count.check(t)
}

// prepare brings every landing to its count before, and then lets it go. Those that are
// to be asleep begin: an HPA puts them to sleep while the others are made.
func (w *workload) prepare(list []landing) {
	w.T.Helper()
	w.settle(list)
	awake := slices.DeleteFunc(slices.Clone(list), landing.asleep)
	asleep := slices.DeleteFunc(slices.Clone(list), func(l landing) bool { return !l.asleep() })
	for _, l := range asleep {
		l.place.createTarget(l)
		l.place.applyLanding(l)
	}
	for _, l := range awake {
		l.place.createTarget(l)
		w.Queue(l.name, l.jobs)
	}
	for _, l := range awake {
		l.place.awaitStart(l)
	}
	for _, l := range awake {
		l.place.applyLanding(l)
	}
	for _, l := range asleep {
		l.place.awaitStart(l)
		l.place.awaitHPA(l.name, autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "")
		w.Queue(l.name, l.jobs)
	}
}

func (w *workload) awaitStart(l landing) {
	w.T.Helper()
	w.until(landingTime, func() string {
		if spec, status := w.targetReplicas(l); spec != l.before || status != l.pods(spec) {
			return fmt.Sprintf("%s has %d pods of %d", l, status, spec)
		}
		return ""
	})
}

// verdict is how a landing ended.
type verdict string

const (
	pending   verdict = "not landed, without a reason"
	landed    verdict = "landed"
	swallowed verdict = "SwallowedByTolerance"
	opaque    verdict = "HPANotTransparent"
)

// awaitVerdicts waits until every landing has ended in some way. A decision for another
// count is only a reason to wait: on a busy machine the store may be too slow for one,
// and nothing shrinks by that.
func (w *workload) awaitVerdicts(list []landing) map[string]verdict {
	w.T.Helper()
	found := map[string]verdict{}
	w.until(landingTime, func() string {
		var open strings.Builder
		decisions := newestDecisions(w.T)
		for _, l := range list {
			if found[l.name] != "" {
				continue
			}
			v, why := l.place.judge(l, decisions[l.place.Namespace+"/"+l.name])
			if v != pending {
				found[l.name] = v
				continue
			}
			fmt.Fprintf(&open, "%s: %s\n", l, why)
		}
		return open.String()
	})
	return found
}

// judge compares where an HPA is with what was decided, or with what it decides itself.
// Only a decision on what there is now counts.
func (w *workload) judge(l landing, d scaling.Explanation) (v verdict, why string) {
	spec, status := w.targetReplicas(l)
	at := fmt.Sprintf("%d of %d replicas, decided %d, value %g: %s %s", status, spec, d.Replicas, d.Value, d.Why, d.Error)
	settled := status == l.pods(spec) && d.Current == spec && d.Status == status
	switch {
	case d.Policy.Name == "" || d.Error != "":
		return pending, at
	case l.passes:
		if settled && passedOn(l, d.Value) && spec == l.byFormula(milli(d.Value)) {
			return landed, ""
		}
	case d.Replicas != l.wanted && d.Replicas != max(1, l.wanted):
		return pending, at
	case settled && has(d, "SwallowedByTolerance") && l.unreachable(status):
		return swallowed, ""
	case settled && spec == l.wanted:
		return landed, ""
	case l.opaque != "" && has(d, "HPANotTransparent"):
		return opaque, ""
	}
	return pending, at
}

// passedOn reports whether a value is the reading, as exactly as a quantity can be.
func passedOn(l landing, value float64) bool { return math.Abs(value-l.reading()) < 0.00051 }

// milli is a value as the HPA gets it.
func milli(value float64) algorithm.Milli { return algorithm.Milli(math.Round(value * 1000)) }

func has(d scaling.Explanation, kind string) bool {
	return slices.ContainsFunc(d.Conditions, func(c scaling.Condition) bool { return c.Type == kind && c.Status })
}

// newestDecisions are the last decision on each metric, by NAMESPACE/NAME.
func newestDecisions(t *testing.T) map[string]scaling.Explanation {
	t.Helper()
	newest := map[string]scaling.Explanation{}
	for i := range env.adapters.Count() {
		for _, d := range decisionsOf(t, i, "") {
			name := d.Policy.Namespace + "/" + d.Policy.Name
			if d.At.After(newest[name].At) {
				newest[name] = d
			}
		}
	}
	return newest
}

// tally counts how the landings of each kind ended.
type tally struct{ decided, passed, asleep, limited map[verdict]int }

func (c *tally) add(l landing, v verdict) {
	count := func(m *map[verdict]int) {
		if *m == nil {
			*m = map[verdict]int{}
		}
		(*m)[v]++
	}
	if l.passes {
		count(&c.passed)
	} else {
		count(&c.decided)
	}
	if l.asleep() {
		count(&c.asleep)
	}
	if l.quota > 0 {
		count(&c.limited)
	}
}

// check wants some of everything: else the random HPAs are not what they are meant to be.
func (c *tally) check(t *testing.T) {
	t.Helper()
	t.Logf("decided %v, passed on %v; of both, from zero %v, with pods that cannot be made %v", c.decided, c.passed, c.asleep, c.limited)
	if c.decided[landed] < landings/3 || c.decided[swallowed] == 0 || c.decided[opaque] == 0 ||
		c.passed[landed] < landings/10 || c.asleep[landed] < landings/20 || c.limited[landed] < landings/20 {
		t.Error("the random HPAs are not what they are meant to be")
	}
}
