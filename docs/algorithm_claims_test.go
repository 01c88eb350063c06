package docs_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/activation"
	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// claims are the sentences of algorithm.md that have numbers, with those that the code
// gives. What a sentence says without a number is held against a run as well.
func (c *chapter) claims(t *testing.T) []string {
	t.Helper()
	return slices.Concat(c.sayHowFar(), c.sayWhen(t), c.sayWhatPoliciesDo(t), c.sayWhatMemoryDoes(t), []string{
		// Addresses, and numbers that are written to be typed.
		"Why 7 and not 6?", "`ScalingActive` (step 2), `AbleToScale` (3) and `ScalingLimited` (4)",
		"`minReplicas: 0`", "`scaleUp.tolerance: \"0\"`", "A source that answers 0 when", "0 is a reading",
	})
}

// asksAt is what so many jobs ask for while so many pods run.
func asksAt(total, each float64, spec, status int32, tolerance float64) int32 {
	m := jobs(each)
	got, err := algorithm.Recommend(m, reading(m, total, spec), workload(spec, status, 0),
		algorithm.Tolerance{Down: tolerance, Up: tolerance}, algorithm.DefaultWarmup())
	if err != nil {
		panic(err) // a sentence of this file is wrong
	}
	return got.Replicas
}

// band is the first and the last whole number of jobs at which so many pods stay.
func band(each float64, pods int32) (first, last int) {
	first = -1
	for n := 0; n <= 2*int(each)*int(pods); n++ {
		if asksAt(float64(n), each, pods, pods, algorithm.DefaultTolerance) != pods {
			continue
		}
		if first < 0 {
			first = n
		}
		last = n
	}
	return first, last
}

// sayHowFar: what one metric asks for.
func (c *chapter) sayHowFar() []string {
	with, without := c.runs["with behavior"], c.runs["without behavior"]
	first, last := band(4, 10)
	next := asksAt(float64(last+1), 4, 10, 10, algorithm.DefaultTolerance)
	_, nine := band(4, 9)
	return []string{
		fmt.Sprintf("31 jobs at 5 per pod are %s pods, so %d.", number(31.0/5), asksAt(31, 5, 0, 0, 0.1)),
		fmt.Sprintf("Suppose %d pods run and 150 jobs come: %d pods are asked for.", with.syncs[0].from, with.syncs[1].asked),
		fmt.Sprintf("whichever is more: %d, then %d.", with.at(15), with.at(30)),
		fmt.Sprintf("at most the double or %d in one sync: %d, then %d.", legacyFrom(1), without.at(15), without.at(30)),
		fmt.Sprintf("within %g %% of its target", 100*algorithm.DefaultTolerance),
		fmt.Sprintf("With 10 pods and 4 jobs per pod that is %d to %d jobs:", first, last),
		fmt.Sprintf("%d cannot be reached from 10, because the first count outside the band is %d.", next-1, next),
		fmt.Sprintf("at 9 pods %d jobs change nothing and %d ask for %d.", nine, nine+1, asksAt(float64(nine+1), 4, 9, 9, 0.1)),
		fmt.Sprintf("With 0 every job counts: 41 jobs on 10 pods ask for %d.", asksAt(41, 4, 10, 10, 0)),
		fmt.Sprintf("While a rollout has 105 pods where 100 are meant, 100 jobs at 1 per pod ask for %d. A tolerance of 0 asks for %d.",
			asksAt(100, 1, 100, 105, 0.1), asksAt(100, 1, 100, 105, 0)),
		"4 pods that use 150m each, with a target of 75 %:",
		fmt.Sprintf("151m of 200m are %d %%.", asks(resource(algorithm.CPU, 75), 151, workload(4, 4, 200)).Utilization),
		"At 76 % of a target of 80 %",
		fmt.Sprintf("at 60 %% of 80 %%, 3 pods ask for %s, which is %d.", number(3*60.0/80), settles(resource("memory", 80), 60, 10)),
		fmt.Sprintf("37 jobs at 5 per pod ask for %d pods", asksAt(37, 5, 0, 0, 0.1)),
	}
}

// legacyFrom is how far one sync without behavior goes.
func legacyFrom(pods int32) int32 {
	r := run{controller: algorithm.DefaultController(), spec: spec(nil, jobs(1)), replicas: pods, reads: []reads{from(0, 40)}}
	return r.play().last()
}

// sayWhen: how long things take.
func (c *chapter) sayWhen(t *testing.T) []string {
	t.Helper()
	window := algorithm.DefaultBehavior().ScaleDown.Window
	zero := func(kedas time.Duration) string {
		return seconds(activation.Policy{CanSleep: true, Quiet: 300 * time.Second}.Until(0) + kedas)
	}
	longer := c.runs["restarted"].reaches(2) - c.runs["kept"].reaches(2)
	if window != 5*time.Minute {
		t.Errorf("the default window is %v, not five minutes", window)
	}
	if first := c.runs["failing"].reaches(2); first != 360 {
		t.Errorf("the first low reading after the outage, at 360 s, does not act: %d", first)
	}
	return []string{
		fmt.Sprintf("looks at each HPA every %s, and at once", seconds(syncPeriod)),
		fmt.Sprintf("**largest count asked for in the last %s**", seconds(window)),
		fmt.Sprintf("(0 to %.0f)", algorithm.MaxWindow.Seconds()),
		fmt.Sprintf("upward, and %.0f by default.", algorithm.DefaultBehavior().ScaleUp.Window.Seconds()),
		"for the last step from 1 to 0.",
		fmt.Sprintf("With 300 s in Dashpot's `cooldownPeriod` and 300 s in the ScaledObject's, zero comes after %s.", zero(300*time.Second)),
		fmt.Sprintf("with `pollingInterval: 30` that is %s, and zero comes after %s. Not 0:", seconds(2*30*time.Second), zero(60*time.Second)),
		fmt.Sprintf("In a pod's first %s its CPU counts only once", seconds(algorithm.DefaultWarmup().CPUInitialization)),
		fmt.Sprintf("here %d s longer.", longer),
	}
}

// sayWhatPoliciesDo: how far one step goes.
func (c *chapter) sayWhatPoliciesDo(t *testing.T) []string {
	t.Helper()
	defaults := algorithm.DefaultBehavior().ScaleUp.Policies
	swallowed, period, bounds := c.runs["swallowed"], c.runs["period"], c.runs["bounds"]
	for n := int32(1); n <= 1000; n++ {
		if allows(n, 10, true) <= n || allows(n, 10, false) >= n {
			t.Errorf("10 %% of %d is not at least one pod", n)
		}
	}
	if value := 10.0; 50*(1+value/100) <= 55 {
		t.Error("10 % of 50 is not above 5")
	}
	least := c.runs["Min"]
	for n := int32(10); n > 1; n-- {
		if allows(n, 10, false) != n-1 {
			t.Errorf("10 %% of %d are not 1 pod", n)
		}
	}
	return []string{
		fmt.Sprintf("the default policies allow %d pods or %d %% more per %s,", defaults[0].Value, defaults[1].Value, seconds(defaults[0].Period)),
		fmt.Sprintf("From %d pods, %d are asked for. A step may double, so %d run, and %d ÷ %d is %s:",
			swallowed.at(0), swallowed.syncs[1].asked, swallowed.at(15), swallowed.syncs[1].asked, swallowed.last(),
			number(math.Round(float64(swallowed.syncs[1].asked)/float64(swallowed.last())*1000)/1000)),
		fmt.Sprintf("With %d pods per 60 s and a sync every %s, the whole step may come at once, and then nothing for %d s:",
			period.at(15)-period.at(0), seconds(syncPeriod), period.reaches(10)-period.reaches(6)),
		"With 2 pods per 60 s down, 20 s after",
		"so 10 % is at least one pod.",
		"10 % of 50 is a hair above 5.",
		"Down from 20 pods, by 10 % or 4 pods per 60 s:",
		fmt.Sprintf("With `Min`, 10 %% of %d are %d pods at a time; from 10 pods down it is 1.", least.at(0), least.at(0)-least.at(30)),
		fmt.Sprintf("A `maxReplicas` lowered from %d to %d removes %d pods in one sync:", bounds.at(30), bounds.at(45), bounds.at(30)-bounds.at(45)),
	}
}

// sayWhatMemoryDoes: what is remembered and what is forgotten.
func (c *chapter) sayWhatMemoryDoes(t *testing.T) []string {
	t.Helper()
	once := []reads{from(0, 15), from(15, 150), from(30, 15)}
	legacy := c.play("one reading, no behavior", run{spec: spec(nil, jobs(5)), replicas: 3, until: secs(120), reads: once})
	modern := c.play("one reading", run{spec: spec(behaving(nil), jobs(5)), replicas: 3, until: secs(120), reads: once})
	if modern.last() != modern.at(15) {
		t.Errorf("with behavior one high reading is followed from %d to %d", modern.at(15), modern.last())
	}

	slow := behaving(func(b *algorithm.Behavior) {
		b.ScaleDown = algorithm.Rules{Policies: []algorithm.RatePolicy{pods(1, 300*time.Second)}}
	})
	stepped := c.play("steps forgotten", run{
		spec: spec(slow, jobs(5)), replicas: 8, until: secs(60), reads: []reads{from(0, 10)},
		hands: map[time.Duration]func(*run){secs(30): forget},
	})
	if stepped.at(15) != 7 || stepped.at(30) != 6 {
		t.Errorf("the step after a restart: %d, then %d", stepped.at(15), stepped.at(30))
	}

	if n := c.runs["percent alone"].last(); n != 0 {
		t.Errorf("a policy of percent wakes to %d", n)
	}
	if n := c.runs["from one"].last(); n == 0 {
		t.Error("a policy of percent that counts from one does not wake")
	}
	hand := c.runs["by hand"]
	if end := hand.syncs[len(hand.syncs)-1]; hand.last() != 0 || end.why != "ScalingDisabled" || len(end.outcome.Calculations) > 0 {
		t.Errorf("a zero made by hand: %+v", end)
	}
	return []string{
		fmt.Sprintf("Without `behavior` one reading of 150 jobs is enough: it is in the window, which then holds for growing too, and %d pods will run.", legacy.last()),
		"so a policy of 1 pod per 300 s allows the next one at once.",
		fmt.Sprintf("100 %% of 0 is %d.", allows(0, 100, true)),
		"Dashpot counts from at least 1 pod,",
	}
}
