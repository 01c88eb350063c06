package docs_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
	"github.com/dashpot-project/dashpot/pkg/store/memstore"
)

// story is what becomes of one workload: Dashpot's evaluator over the memory store, in
// time that passes at once, between a queue that follows a script and stand-ins for KEDA
// and the HPA, which do with the answers what those do.
type story struct {
	policies []*scaling.Policy
	table    *source.Table // reads what the script does not
	// queue is the length of every queue, from its moment on.
	queue []reads
	// start is when it begins, after 2000-01-01T00:00:00Z, a Saturday.
	start, until  time.Duration
	kedasCooldown time.Duration
	pollingEvery  time.Duration
	most          int32

	began      time.Time
	replicas   int32
	lastActive time.Time
	moments    []moment
}

// moment is the state after one second.
type moment struct {
	at       time.Duration
	queue    float64
	replicas int32
	phase    string
	why      string
}

// The phases of activation.
const (
	asleep  = "asleep"
	awake   = "awake"
	glide   = "glide"
	offSoon = "KEDA"
)

// play lets the story happen, second by second.
func (s *story) play(t *testing.T) *story {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(s.start)
		s.began = time.Now()
		evaluator := scaling.NewEvaluator(scaling.Options{Source: s, Store: memstore.New(), Observer: s})
		for at := time.Duration(0); at <= s.until; at += time.Second {
			s.second(t, evaluator, at)
			time.Sleep(time.Second)
		}
	})
	return s
}

// second is a poll of KEDA's or a sync of the HPA, where it is their time, and at zero a
// look at the stream.
func (s *story) second(t *testing.T, evaluator *scaling.Evaluator, at time.Duration) {
	t.Helper()
	decisions := make([]scaling.Decision, len(s.policies))
	active, wanted := false, int32(0)
	leader := 0
	for i, p := range s.policies {
		d := evaluator.Evaluate(t.Context(), scaling.Request{Ref: scaling.Ref{Namespace: "shop", Kind: "ScaledObject", Name: "worker"}, Policy: p})
		if d.Err != nil {
			t.Fatalf("at %s: %v", at, d.Err)
		}
		decisions[i] = d
		active = active || d.Active
		if count := int32(math.Ceil(d.Value.Float() / p.Target.Float())); count > wanted {
			wanted, leader = count, i
		}
	}
	if active {
		s.lastActive = time.Now()
	}
	switch synced, polled := at%syncPeriod == 0, at%s.pollingEvery == 0; {
	case s.replicas == 0 && active: // a push
		s.replicas = 1
	case s.replicas > 0 && !active && polled && time.Since(s.lastActive) >= s.kedasCooldown:
		s.replicas = 0
	case s.replicas > 0 && synced:
		s.replicas = min(max(wanted, 1), s.most)
	}
	s.moments = append(s.moments, moment{at, s.length(), s.replicas, s.phase(active, decisions), decisions[leader].Why()})
}

func (s *story) phase(active bool, decisions []scaling.Decision) string {
	switch {
	case s.replicas == 0:
		return asleep
	case !active:
		return offSoon
	}
	for _, d := range decisions {
		if !d.Over {
			return awake
		}
	}
	return glide
}

// Observe shows a Deployment that may sleep, under an HPA that passes counts on.
func (s *story) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	return scaling.Observation{
		Target: "apps/Deployment/worker", Spec: s.replicas, Status: s.replicas,
		Bounds: algorithm.Bounds{Min: 1, Max: s.most}, ToZero: true, Cooldown: s.kedasCooldown, OtherWakes: len(s.policies) > 1,
		HPA: scaling.HPA{Name: "keda-hpa-worker", Target: 1000},
	}, nil
}

// Read answers for queues; the clock answers for itself.
func (s *story) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	outcomes := make([]scaling.Outcome, len(queries))
	for i, q := range queries {
		switch {
		case strings.HasPrefix(q.String(), "cron "):
			outcomes[i] = s.table.Read(ctx, []scaling.Query{q})[0]
		case math.IsNaN(s.length()):
			outcomes[i].Err = errors.New("no answer")
		default:
			outcomes[i].Value = s.length()
		}
	}
	return outcomes
}

func (s *story) length() float64 {
	length, at := 0.0, time.Since(s.began)
	for _, r := range s.queue {
		if r.from <= at {
			length = r.values[0]
		}
	}
	return length
}

// at is the count at a moment.
func (s *story) at(second int) int32 { return s.moments[second].replicas }

// reaches is the first second, from a moment on, at which so many pods run; -1 for never.
func (s *story) reaches(replicas int32, from int) int {
	for i, m := range s.moments[from:] {
		if m.replicas == replicas {
			return from + i
		}
	}
	return -1
}

// picture shows the queue in pods, the replicas, and in the lane the activation.
func (s *story) picture(title string, each float64) picture {
	replicas, queue := line{name: "replicas", labels: true}, line{name: fmt.Sprintf("the queue asks for: entries ÷ %g", each)}
	var lane []span
	for i, m := range s.moments {
		at, asked := m.at.Minutes(), math.Ceil(m.queue/each)
		replicas.points = stepped(replicas.points, at, float64(m.replicas))
		queue.points = stepped(queue.points, at, asked)
		if i == 0 || s.moments[i-1].phase != m.phase {
			if i > 0 {
				lane[len(lane)-1].to = at
			}
			lane = append(lane, span{from: at, text: m.phase})
		}
	}
	end := s.until.Minutes()
	lane[len(lane)-1].to = end
	replicas.points, queue.points = ended(replicas.points, end), ended(queue.points, end)
	return picture{title: title, xName: "min", yName: "pods", lines: []line{replicas, queue}, lane: lane, xEvery: nice(end / 10)}
}

// stepped adds a step to a line where it moves.
func stepped(points []point, x, y float64) []point {
	if n := len(points); n > 0 && points[n-1].y == y {
		return points
	}
	return append(points, point{x, y})
}

// ended draws a line on to x.
func ended(points []point, x float64) []point {
	return append(points, point{x, points[len(points)-1].y})
}

// path is every count in words: 0, 1 at 1:00, 8 at 1:15.
func (s *story) path() string {
	var steps []string
	for i, m := range s.moments {
		switch {
		case i == 0:
			steps = append(steps, fmt.Sprint(m.replicas))
		case m.replicas != s.moments[i-1].replicas:
			steps = append(steps, fmt.Sprintf("%d at %d:%02d", m.replicas, int(m.at.Minutes()), int(m.at.Seconds())%60))
		}
	}
	return strings.Join(steps, ", ")
}

// manifest is what stories use of a ScaledObject.
type manifest struct {
	Spec struct {
		MaxReplicaCount, PollingInterval, CooldownPeriod int
		Triggers                                         []struct{ Metadata map[string]string }
	}
}

// storyOf is the story of a ScaledObject: all its triggers are Dashpot's.
func storyOf(t *testing.T, text string) *story {
	t.Helper()
	var m manifest
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	table := newTypes(t)
	s := &story{
		table: table, most: int32(m.Spec.MaxReplicaCount), pollingEvery: time.Duration(m.Spec.PollingInterval) * time.Second,
		kedasCooldown: time.Duration(m.Spec.CooldownPeriod) * time.Second,
	}
	for _, trigger := range m.Spec.Triggers {
		p := policy.Parser{Sources: table}.Parse(trigger.Metadata)
		if p.Invalid != nil || len(p.Warnings) > 0 {
			t.Fatalf("%v, warnings %q", p.Invalid, p.Warnings)
		}
		s.policies = append(s.policies, p)
	}
	return s
}
