package conformance

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// source gives the steps of a trace, each after it was told what the one before did.
type source interface {
	next() (traceStep, bool)
	did(done oracle.Done)
}

// trace is a source's steps and what the real controller and ours did in each.
type trace struct {
	config algorithm.Controller
	style  oracle.Style
	// differences are switched on in ours alone.
	differences algorithm.Differences

	steps  []traceStep
	theirs []oracle.Done
	ours   []oracle.Done
	// broken is why the real controller could not be driven on.
	broken error
}

// play runs a source until its end or the first difference. It is for one bubble.
func (t *trace) play(s source) {
	theirs := upstream{oracle.NewController(t.config, t.style)}
	defer theirs.Stop()
	ours := &model{config: t.config}
	ours.config.Differences = t.differences
	for next, ok := s.next(); ok && !t.differs(); next, ok = s.next() {
		t.steps = append(t.steps, next)
		done, err := theirs.take(next)
		if err != nil {
			t.broken = err
			return
		}
		t.theirs, t.ours = append(t.theirs, done), append(t.ours, ours.take(next))
		s.did(done)
	}
}

// upstream is the real controller.
type upstream struct{ *oracle.Controller }

func (u upstream) take(s traceStep) (oracle.Done, error) {
	if s.restart {
		u.Restart()
	}
	u.LoseStatus(s.lost)
	return u.Reconcile(s.in)
}

// model is the same controller as pkg/algorithm has it.
type model struct {
	config algorithm.Controller
	state  algorithm.State
}

func (m *model) take(s traceStep) oracle.Done {
	if s.restart {
		m.state.Memory = algorithm.Memory{}
	}
	kept := m.state.Conditions
	out := m.config.Reconcile(s.in, &m.state)
	done := oracle.Done{Replicas: out.Replicas, Rescaled: out.Rescaled, Conditions: m.state.Conditions}
	if s.lost {
		m.state.Conditions = kept
	}
	return done
}

// differs is about the last step: playing ends with the first that does.
func (t *trace) differs() bool {
	last := len(t.ours) - 1
	return last >= 0 && t.ours[last] != t.theirs[last]
}

// recorded is a source of steps that are there already.
type recorded struct{ steps []traceStep }

func (r *recorded) next() (traceStep, bool) {
	if len(r.steps) == 0 {
		return traceStep{}, false
	}
	s := r.steps[0]
	r.steps = r.steps[1:]
	return s, true
}

func (r *recorded) did(oracle.Done) {}

// TestReconciles puts random traces before the real controller and ours, and compares
// what each reconcile did: the replicas, whether they were written, and all conditions
// with status and reason.
func TestReconciles(t *testing.T) {
	for _, scaleToZero := range []bool{true, false} {
		share := *reconciles
		if !scaleToZero {
			share /= 10
		}
		t.Run(fmt.Sprintf("%s=%v", features.HPAScaleToZero, scaleToZero), func(t *testing.T) {
			setScaleToZero(t, scaleToZero)
			found := compareReconciles(t, share, func(t *testing.T, number int) *trace {
				return playWorld(t, number, scaleToZero)
			})
			t.Log(found.reasonsReport())
			if share >= 40_000 {
				found.requireEveryReason(t, scaleToZero)
			}
		})
	}
	t.Run("time per reconcile", func(t *testing.T) {
		theirs, ours, n := timeAlone(t, 40)
		t.Logf("over %d reconciles, one after the other: the real controller %v each, %.0f/s; ours %v",
			n, theirs, float64(time.Second)/float64(theirs), ours)
	})
}

// setScaleToZero sets upstream's gate, which is the whole process's, for a test.
func setScaleToZero(t *testing.T, on bool) {
	t.Helper()
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.HPAScaleToZero, on)
}

// compareReconciles plays traces on every core until enough reconciles are compared.
func compareReconciles(t *testing.T, wanted int, play func(t *testing.T, number int) *trace) tallied {
	var (
		mutex  sync.Mutex
		number int
		found  = tallied{reasons: map[left]int{}}
	)
	start := time.Now()
	t.Run("traces", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					mutex.Lock()
					number++
					mine, enough := number, found.reconciles >= wanted || found.differences >= 5
					mutex.Unlock()
					if enough {
						return
					}
					played := play(t, mine)
					if played.differs() || played.broken != nil {
						t.Errorf("trace %d:\n%s", mine, shrink(t, played))
					}
					mutex.Lock()
					found.add(played)
					mutex.Unlock()
				}
			})
		}
	})
	t.Log(found.report(time.Since(start)))
	return found
}

// tallied is what the traces came to.
type tallied struct {
	traces, reconciles, rescales, restarts, differences int
	simulated                                           time.Duration
	reasons                                             map[left]int
}

// left is a condition as a reconcile left it.
type left struct {
	name string
	algorithm.Condition
}

func (l left) String() string { return fmt.Sprintf("%s=%s/%s", l.name, l.Status, l.Reason) }

func (f *tallied) add(t *trace) {
	f.traces++
	f.reconciles += len(t.steps)
	f.simulated += t.steps[len(t.steps)-1].in.Workload.Now
	if t.differs() || t.broken != nil {
		f.differences++
	}
	for i, done := range t.theirs {
		if done.Rescaled {
			f.rescales++
		}
		if t.steps[i].restart {
			f.restarts++
		}
		c := done.Conditions
		f.reasons[left{"AbleToScale", c.AbleToScale}]++
		f.reasons[left{"ScalingActive", c.ScalingActive}]++
		f.reasons[left{"ScalingLimited", c.ScalingLimited}]++
		f.reasons[left{"ScaledToZero", c.ScaledToZero}]++
	}
}

func (f *tallied) report(took time.Duration) string {
	return fmt.Sprintf("%d traces, %d reconciles in %v of simulated time, %d writes, %d restarts, seed %d: %d differences; %v, %.0f reconciles/s",
		f.traces, f.reconciles, f.simulated.Round(time.Hour), f.rescales, f.restarts, *seed, f.differences,
		took.Round(time.Millisecond), float64(f.reconciles)/took.Seconds())
}

func (f *tallied) reasonsReport() string {
	var lines []string
	for reason, n := range f.reasons {
		lines = append(lines, fmt.Sprintf("%-55s %9d", reason, n))
	}
	slices.Sort(lines)
	return "conditions that the reconciles left:\n  " + strings.Join(lines, "\n  ")
}

// requireEveryReason is about the traces themselves: a rule that they never reach would
// not have been compared.
func (f *tallied) requireEveryReason(t *testing.T, scaleToZero bool) {
	t.Helper()
	found := map[string]bool{}
	for reason := range f.reasons {
		found[reason.String()] = true
	}
	required := []string{
		"AbleToScale=False/FailedGetScale", "AbleToScale=False/FailedUpdateScale", "AbleToScale=True/SucceededGetScale",
		"AbleToScale=True/ReadyForNewScale", "AbleToScale=True/ScaleUpStabilized", "AbleToScale=True/ScaleDownStabilized",
		"AbleToScale=True/SucceededRescale",
		"ScalingActive=True/ValidMetricFound", "ScalingActive=False/ScalingDisabled",
		"ScalingActive=False/InvalidSelector", "ScalingActive=False/AmbiguousSelector",
		"ScalingActive=False/FailedGetResourceMetric", "ScalingActive=False/FailedGetContainerResourceMetric",
		"ScalingActive=False/FailedGetPodsMetric", "ScalingActive=False/FailedGetObjectMetric",
		"ScalingActive=False/FailedGetExternalMetric", "ScalingActive=False/InvalidMetricSourceType",
		"ScalingLimited=False/DesiredWithinRange", "ScalingLimited=True/TooFewReplicas", "ScalingLimited=True/TooManyReplicas",
		"ScalingLimited=True/ScaleUpLimit", "ScalingLimited=True/ScaleDownLimit",
		"ScaledToZero=/",
	}
	if scaleToZero {
		required = append(required, "ScaledToZero=True/ScaledToZero", "ScaledToZero=False/NotScaledToZero")
	}
	for _, reason := range required {
		if !found[reason] {
			t.Errorf("no trace came to %s", reason)
		}
	}
}

// timeAlone is what a reconcile takes either side, over the first traces of the seed.
func timeAlone(t *testing.T, traces int) (theirs, ours time.Duration, reconciles int) {
	setScaleToZero(t, true)
	for number := range traces {
		played := playWorld(t, number, true)
		reconciles += len(played.steps)

		start := time.Now()
		synctest.Test(t, func(t *testing.T) {
			c := upstream{oracle.NewController(played.config, played.style)}
			defer c.Stop()
			for _, s := range played.steps {
				if _, err := c.take(s); err != nil {
					t.Error(err)
				}
			}
		})
		theirs += time.Since(start)

		start = time.Now()
		m := model{config: played.config}
		for _, s := range played.steps {
			m.take(s)
		}
		ours += time.Since(start)
	}
	return theirs / time.Duration(reconciles), ours / time.Duration(reconciles), reconciles
}

// playWorld plays the trace with this number in a bubble of its own.
func playWorld(t *testing.T, number int, scaleToZero bool) *trace {
	w := newWorld(newRandom(fmt.Sprintf("reconciles, scale to zero %v", scaleToZero), number), scaleToZero, nil)
	return playIn(t, w, algorithm.Differences{})
}

// playIn plays a world in a bubble.
func playIn(t *testing.T, w *world, differences algorithm.Differences) *trace {
	played := &trace{config: w.config, style: pick(w.Rand, oracle.Explicit, oracle.Sparse), differences: differences}
	synctest.Test(t, func(*testing.T) { played.play(w) })
	return played
}

// shrink leaves out the beginning of a trace as long as it still ends in a difference,
// and prints the rest.
func shrink(t *testing.T, failing *trace) string {
	for cut := len(failing.steps) / 2; cut > 0; {
		shorter := &trace{config: failing.config, style: failing.style, differences: failing.differences}
		synctest.Test(t, func(*testing.T) { shorter.play(&recorded{steps: failing.steps[cut:]}) })
		if shorter.differs() {
			failing, cut = shorter, min(cut, len(shorter.steps)/2)
		} else {
			cut /= 2
		}
	}
	return failing.String()
}

func (t *trace) String() string {
	var out strings.Builder
	n := notebook{config: t.config}
	for i, s := range t.steps {
		if i < len(t.theirs) {
			n.note(s, t.theirs[i])
		}
	}
	out.WriteString(n.text())
	switch last := len(t.steps) - 1; {
	case t.broken != nil:
		fmt.Fprintf(&out, "  at %v: %v\n", t.steps[last].in.Workload.Now, t.broken)
	case t.differs():
		fmt.Fprintf(&out, "  instead ours: %s\n", outcome(t.ours[last]))
	}
	return out.String()
}
