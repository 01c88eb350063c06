package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// streams is how many sequences of random questions there are, whatever the number of
// processors that share them: the questions follow from the seed alone.
const streams = 16

// TestCalculations puts random questions to both calculators.
func TestCalculations(t *testing.T) {
	start := time.Now()
	var tallies [streams]tally
	t.Run("streams", func(t *testing.T) {
		for i := range streams {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				n := (*calculations + i) / streams
				synctest.Test(t, func(t *testing.T) { tallies[i] = compareCalculations(t, i, n) })
			})
		}
	})
	total := tally{}
	for _, t := range tallies {
		for source, n := range t {
			total[source] = total[source].plus(n)
		}
	}
	t.Log(total.report(time.Since(start)))
}

// counts are of calculations: all, those where both fail, where the metric asks for no
// change, and where the two differ.
type counts struct{ all, failed, held, differences int }

func (c counts) plus(o counts) counts {
	return counts{c.all + o.all, c.failed + o.failed, c.held + o.held, c.differences + o.differences}
}

// tally is the counts of each source.
type tally map[algorithm.MetricSource]counts

func (t tally) report(took time.Duration) string {
	var b strings.Builder
	var sum counts
	for _, source := range sources {
		c := t[source]
		sum = sum.plus(c)
		fmt.Fprintf(&b, "\n%-18s %9d calculations, %8d of them errors on both sides, %8d within tolerance, differences %d", source, c.all, c.failed, c.held, c.differences)
	}
	return fmt.Sprintf("%d random calculations, seed %d, differences %d, %.0f calculations per second%s",
		sum.all, *seed, sum.differences, float64(sum.all)/took.Seconds(), &b)
}

// maxDifferences is after how many a stream gives up.
const maxDifferences = 3

// questionsPerWorkload are put about the same pods, which take longer to make than a
// question to answer.
const questionsPerWorkload = 4

// compareCalculations puts the first n questions of a stream.
func compareCalculations(t *testing.T, stream, n int) tally {
	g := generator{newRandom("calculations", stream)}
	result := tally{}
	var warmup algorithm.Warmup
	var workload algorithm.Workload
	var upstream oracle.Calculator
	for i := range n {
		if i%questionsPerWorkload == 0 {
			warmup = g.warmup()
			workload = g.workload(warmup)
			upstream = oracle.NewCalculator(workload.Pods, workload.Now)
		}
		c := g.calculation(workload, warmup)
		answer := c.ask(upstream)
		counted := answer.counts()
		result[c.metric.Source] = result[c.metric.Source].plus(counted)
		if counted.differences > 0 {
			c = c.shrink()
			t.Errorf("%s\nof:\n%v", c.askAgain().difference(), c)
			if result[c.metric.Source].differences >= maxDifferences {
				break
			}
		}
	}
	return result
}

// answers are both calculators'.
type answers struct {
	got, want       algorithm.Calculation
	gotErr, wantErr error
}

// ask puts a calculation to both calculators. upstream has to hold its pods.
func (c calculation) ask(upstream oracle.Calculator) answers {
	var a answers
	a.got, a.gotErr = algorithm.Recommend(c.metric, c.reading, c.workload, c.tolerance, c.warmup)
	a.want, a.wantErr = upstream.Calculate(c.metric, c.reading, c.workload.Scale, c.tolerance, c.warmup)
	if c.dividesByZero() {
		a.got.Average, a.want.Average = 0, 0
	}
	return a
}

func (c calculation) askAgain() answers {
	return c.ask(oracle.NewCalculator(c.workload.Pods, c.workload.Now))
}

func (a answers) counts() counts {
	n := counts{all: 1}
	switch {
	case a.difference() != "":
		n.differences = 1
	case a.gotErr != nil:
		n.failed = 1
	case a.got.WithinTolerance:
		n.held = 1
	}
	return n
}

// difference says how the two answers differ; "" if they do not.
func (a answers) difference() string {
	got := a.got
	got.WithinTolerance = false // upstream does not tell
	switch {
	case (a.gotErr != nil) != (a.wantErr != nil):
		return fmt.Sprintf("got the error %v, upstream's is %v", a.gotErr, a.wantErr)
	case a.gotErr == nil && got != a.want:
		return fmt.Sprintf("got %+v, upstream %+v", got, a.want)
	}
	return ""
}

// dividesByZero reports whether upstream's average is a usage divided by the 0 of
// status.replicas, which is no number.
func (c calculation) dividesByZero() bool {
	target := c.metric.Target
	perPod := target.AverageValue != 0 && (c.metric.Source == algorithm.ExternalSource ||
		c.metric.Source == algorithm.ObjectSource && target.Type == algorithm.AverageValueTarget)
	return perPod && c.workload.Scale.Status == 0
}

// shrink leaves out pods and readings for as long as there is a difference.
func (c calculation) shrink() calculation {
	for i := len(c.workload.Pods) - 1; i >= 0; i-- {
		smaller := c
		smaller.workload.Pods = slices.Delete(slices.Clone(c.workload.Pods), i, i+1)
		if smaller.askAgain().difference() != "" {
			c = smaller
		}
	}
	for name := range maps.Clone(c.reading.Pods) {
		smaller := c
		smaller.reading.Pods = maps.Clone(c.reading.Pods)
		delete(smaller.reading.Pods, name)
		if smaller.askAgain().difference() != "" {
			c = smaller
		}
	}
	return c
}

// Upstream's tolerances are written to by their layout in memory, which nothing but their
// own text can confirm.
func TestTolerancesAreUpstreams(t *testing.T) {
	if got, want := oracle.Tolerances(algorithm.Tolerance{Down: 0.05, Up: 0.3}).String(), "[down:5.0%, up:30.0%]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
