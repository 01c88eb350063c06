package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

var record = flag.Bool("record", false, "rewrite what the real controller did in pkg/algorithm/testdata/upstream")

const recordings = "../../pkg/algorithm/testdata/upstream"

// A scene is a story that the real controller is put through. What it did is kept with
// pkg/algorithm, whose own tests replay it without building Kubernetes.
type scene struct {
	name string
	// about says which rule it shows.
	about  string
	config func(*algorithm.Controller)
	play   func(*stage)
}

// TestRecordings fails if a recording is not what the real controller does.
func TestRecordings(t *testing.T) {
	known := map[string]bool{}
	for _, s := range scenes() {
		known[s.name+".txt"] = true
		t.Run(s.name, func(t *testing.T) {
			file, fresh := filepath.Join(recordings, s.name+".txt"), s.record(t)
			if *record {
				if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(kept) != fresh {
				t.Errorf("the real controller did:\n%s", fresh)
			}
		})
	}
	files, err := os.ReadDir(recordings)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("%s is a recording of no scene", f.Name())
		}
	}
}

func (s scene) record(t *testing.T) string {
	config := algorithm.DefaultController()
	if s.config != nil {
		s.config(&config)
	}
	setScaleToZero(t, config.ScaleToZero)
	stage := &stage{t: t, notebook: notebook{config: config}}
	stage.playUpstream(config, s.play)
	about := "# " + strings.ReplaceAll(s.about, "\n", "\n# ")
	return about + "\n#\n# Recorded from the HPA controller of Kubernetes 1.37.2.\n\n" + stage.notebook.text()
}

// stage is where a scene plays: the state of the world, and the controller in it.
type stage struct {
	t        *testing.T
	take     func(traceStep) (oracle.Done, error) // the controller's
	notebook notebook
	begun    bool
	step     traceStep
	tick     time.Duration
	last     oracle.Done
}

// playUpstream puts the real controller through it.
func (s *stage) playUpstream(config algorithm.Controller, play func(*stage)) {
	synctest.Test(s.t, func(*testing.T) {
		theirs := upstream{oracle.NewController(config, oracle.Sparse)}
		defer theirs.Stop()
		s.take = theirs.take
		play(s)
	})
}

// playOurs puts pkg/algorithm's through it.
func (s *stage) playOurs(config algorithm.Controller, play func(*stage)) {
	ours := &model{config: config}
	s.take = func(step traceStep) (oracle.Done, error) { return ours.take(step), nil }
	play(s)
}

// spec sets the first spec.
func (s *stage) spec(bounds algorithm.Bounds, b *algorithm.Behavior, metrics ...algorithm.Metric) {
	s.step.in.Spec = algorithm.Spec{Bounds: bounds, Behavior: b, Metrics: metrics}
}

// scale sets spec.replicas by hand, and status.replicas with it.
func (s *stage) scale(replicas int32) { s.scaleStatus(replicas, replicas) }

func (s *stage) scaleStatus(spec, status int32) {
	s.step.in.Workload.Scale = algorithm.Scale{Spec: spec, Status: status}
}

func (s *stage) read(readings ...algorithm.Reading) { s.step.in.Readings = readings }

// syncs lets the controller reconcile so many times, every 15 s, with these readings if
// there are any.
func (s *stage) syncs(n int, readings ...algorithm.Reading) {
	if len(readings) > 0 {
		s.read(readings...)
	}
	for range n {
		s.step.in.Workload.Now = s.tick
		s.reconcile()
	}
}

// edit changes the spec so long after the last reconcile, which makes the controller
// reconcile at once. It is to be before the next sync.
func (s *stage) edit(after time.Duration, change func(*algorithm.Spec)) {
	spec := s.step.in.Spec
	if spec.Behavior != nil {
		b := *spec.Behavior
		spec.Behavior = &b
	}
	change(&spec)
	s.step.in.Spec = spec
	s.step.in.Workload.Now += after
	s.reconcile()
}

// restart has a new process reconcile so long after the last reconcile.
func (s *stage) restart(after time.Duration) {
	s.step.restart = true
	s.step.in.Workload.Now += after
	s.tick = s.step.in.Workload.Now
	s.reconcile()
	s.step.restart = false
}

func (s *stage) reconcile() {
	s.t.Helper()
	if !s.begun && s.step.in.Workload.Scale == (algorithm.Scale{}) {
		s.t.Fatal("a scene begins with a scale")
	}
	s.begun = true
	done, err := s.take(s.step)
	if err != nil {
		s.t.Fatal(err)
	}
	s.notebook.note(s.step, done)
	if s.tick == s.step.in.Workload.Now {
		s.tick += oracle.SyncPeriod
	}
	s.last = done
	s.step.in.Workload.Scale = algorithm.Scale{Spec: done.Replicas, Status: done.Replicas}
}

// jobs is one value of an External or Object metric.
func jobs(n float64) algorithm.Reading {
	return algorithm.Reading{Series: []algorithm.Milli{algorithm.Milli(n * 1000)}}
}

func fails() algorithm.Reading { return algorithm.Reading{Err: failure("no answer")} }

// perPod is an External metric with an AverageValue target.
func perPod(target float64) algorithm.Metric {
	return algorithm.Metric{
		Source: algorithm.ExternalSource,
		Target: algorithm.Target{Type: algorithm.AverageValueTarget, AverageValue: algorithm.Milli(target * 1000)},
	}
}

// behavior is the default one with changes.
func behavior(change func(up, down *algorithm.Rules)) *algorithm.Behavior {
	b := algorithm.DefaultBehavior()
	change(&b.ScaleUp, &b.ScaleDown)
	return &b
}

// immediate lets a direction go anywhere at once.
func immediate(r *algorithm.Rules) {
	r.Window, r.Tolerance = 0, 0
	r.Policies = []algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 1000, Period: time.Second}}
}
