package conformance

import (
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

// traceStep is one reconcile and what happens before it.
type traceStep struct {
	in algorithm.Input
	// restart: the controller's process is a new one.
	restart bool
	// lost: the API server refuses the status.
	lost bool
}

// world draws the steps of one trace: a workload, its metrics, and people and failures
// that get in between. The rates are the trace's own, so that some are calm for hours
// and others are not.
type world struct {
	generator
	config  algorithm.Controller
	in      algorithm.Input
	tick    time.Duration // when the controller reconciles next by itself
	left    int
	signals []signal
	bounds  int32 // the largest count that this trace's bounds name
	podful  bool  // there are pods to see
	lag     int32 // how far status.replicas moves in a sync; 0 is at once
	born    int   // how many pods there were ever
	// tame keeps specs to what a test is about; nil for any.
	tame func(algorithm.Spec) algorithm.Spec

	// Once in so many steps, or never at 0.
	edits, restarts, hands, troubles, failures int
	// trouble lasts for so many steps yet.
	trouble int
}

func newWorld(r *rand.Rand, scaleToZero bool, tame func(algorithm.Spec) algorithm.Spec) *world {
	w := &world{generator: generator{r}, tame: tame}
	longest := 90 * time.Minute
	if tame != nil { // a long memory reaches back one hour and no further
		longest = algorithm.MaxWindow
	}
	w.config = algorithm.Controller{
		Tolerance:              w.tolerance(),
		DownscaleStabilization: pick(r, w.window(), w.window(), w.window(), w.window(), w.window(), longest),
		Warmup:                 w.warmup(),
		ScaleToZero:            scaleToZero,
	}
	if w.oneIn(2) {
		w.config = algorithm.DefaultController()
		w.config.ScaleToZero = scaleToZero
	}
	w.left = pick(r, 40, 80, 160, 320, 640)
	w.bounds = pick(r, int32(6), 10, 10, 20, 20, 60, 300)
	w.podful = w.bounds <= 20 && w.oneIn(3)
	w.lag = pick(r, int32(0), 0, 1, 3)
	w.edits, w.restarts = pick(r, 0, 10, 40, 40, 100), pick(r, 0, 0, 50, 200)
	w.hands, w.troubles, w.failures = pick(r, 0, 30, 100), pick(r, 0, 15, 50, 200), pick(r, 0, 0, 20, 100, 100)
	w.in.Spec = w.tamed(w.spec())
	w.in.Workload.Scale.Spec = pick(r, 1, 1, 3, 0, r.Int32N(w.bounds+2))
	w.in.Workload.Scale.Status = w.in.Workload.Scale.Spec
	return w
}

// sometimes is true once in n times, never for 0.
func (w *world) sometimes(n int) bool { return n > 0 && w.oneIn(n) }

// next is the next step, if there is one left.
func (w *world) next() (traceStep, bool) {
	if w.left == 0 {
		return traceStep{}, false
	}
	w.left--
	s := traceStep{lost: w.sometimes(2 * w.troubles)}
	s.restart = w.move()
	w.meddle()
	w.disturb()
	w.follow()
	w.in.Readings = w.readings()
	s.in = w.in
	return s, true
}

// did tells the world what the controller did.
func (w *world) did(done oracle.Done) { w.in.Workload.Scale.Spec = done.Replicas }

// move goes on to the next reconcile: that of the next tick, or one that an edit or a new
// process brings. It reports whether the process is new.
func (w *world) move() (restart bool) {
	now := &w.in.Workload.Now
	switch first := w.tick == 0; {
	case !first && w.sometimes(w.restarts):
		*now += pick(w.Rand, 0, w.seconds(60), w.seconds(900))
		w.tick, restart = *now, true
		if w.oneIn(4) {
			w.edit()
		}
	case !first && w.sometimes(w.edits):
		// Strictly between two ticks: an edit at the very tick may come before or after.
		between := w.tick - *now
		moment := pick(w.Rand, time.Nanosecond, time.Second, 5*time.Second, time.Duration(w.Int64N(int64(oracle.SyncPeriod))))
		if moment = max(moment, 1); moment < between {
			*now += moment
			w.edit()
			return false
		}
		fallthrough
	default:
		*now = w.tick
	}
	w.tick += oracle.SyncPeriod
	return restart
}

// edit changes the spec for sure.
func (w *world) edit() {
	for before := w.in.Spec; reflect.DeepEqual(before, w.in.Spec); {
		w.in.Spec = w.tamed(w.edited(before))
	}
}

func (w *world) tamed(s algorithm.Spec) algorithm.Spec {
	if w.tame == nil {
		return s
	}
	return w.tame(s)
}

// meddle is somebody who scales by hand. A workload that nobody wakes is soon left.
func (w *world) meddle() {
	spec, bounds := &w.in.Workload.Scale.Spec, w.in.Spec.Bounds
	if w.sometimes(w.hands) || (*spec == 0 && w.oneIn(15)) {
		*spec = pick(w.Rand, 0, 1, bounds.Min, max(bounds.Min-1, 0), bounds.Max+1, w.Int32N(bounds.Max+3))
	}
}

// disturb breaks the scale or the selector for a while.
func (w *world) disturb() {
	if w.trouble > 0 {
		w.trouble--
	} else {
		w.in.NoScale, w.in.Refused, w.in.Selector = false, false, ""
	}
	if w.trouble == 0 && w.sometimes(w.troubles) {
		w.trouble = w.IntN(6)
		switch w.IntN(5) {
		case 0:
			w.in.NoScale = true
		case 1, 2:
			w.in.Refused = true
		case 3:
			w.in.Selector = algorithm.InvalidSelector
		case 4:
			w.in.Selector = algorithm.AmbiguousSelector
		}
	}
}

// follow lets status.replicas and the pods follow spec.replicas. Without a pod no two
// selectors match the same one.
func (w *world) follow() {
	spec, status := w.in.Workload.Scale.Spec, &w.in.Workload.Scale.Status
	switch surge := w.oneIn(50); {
	case surge:
		*status = spec + 1 + w.Int32N(3)
	case w.lag == 0:
		*status = spec
	default:
		*status = min(max(spec, *status-w.lag), *status+w.lag)
	}
	if w.podful {
		w.in.Workload.Pods = w.pods(int(min(*status, 30)))
	}
	if len(w.in.Workload.Pods) == 0 && w.in.Selector == algorithm.AmbiguousSelector {
		w.in.Selector = ""
	}
}

// pods are those of the step before, aged, and as many as wanted. The slice is the same
// as long as nothing changed.
func (w *world) pods(n int) []algorithm.Pod {
	old := w.in.Workload.Pods
	growing := func(p algorithm.Pod) bool { return p.Phase == algorithm.Pending || p.Ready == algorithm.False }
	var changed []int
	for i, p := range old[:min(n, len(old))] {
		if (growing(p) && w.oneIn(3)) || w.oneIn(200) {
			changed = append(changed, i)
		}
	}
	if len(changed) == 0 && n == len(old) {
		return old
	}
	pods := append(make([]algorithm.Pod, 0, n), old[:min(n, len(old))]...)
	for _, i := range changed {
		pods[i] = w.aged(pods[i])
	}
	for len(pods) < n {
		pods = append(pods, w.newborn())
	}
	return pods
}

func (w *world) newborn() algorithm.Pod {
	p := algorithm.Pod{Name: "web-" + string(rune('a'+w.born%26)) + string(rune('a'+w.born/26%26)), Phase: algorithm.Pending}
	w.born++
	w.requests(&p, w.containers(), !w.oneIn(100))
	if w.in.Workload.Now == 0 || w.oneIn(4) {
		return w.healthy(p, w.in.Workload.Now, w.config.Warmup)
	}
	return p
}

// aged is a pod a step on in its life, or in any state that there is.
func (w *world) aged(p algorithm.Pod) algorithm.Pod {
	now := w.in.Workload.Now
	switch {
	case w.oneIn(8):
		return w.anyHow(p, now, w.config.Warmup)
	case p.Phase == algorithm.Pending:
		p.Phase, p.HasStarted, p.Started, p.Ready, p.ReadySince = algorithm.Running, true, now, algorithm.False, now
	case p.Ready == algorithm.False:
		p.Ready, p.ReadySince = algorithm.True, now
	default:
		return w.healthy(p, now, w.config.Warmup)
	}
	return p
}
