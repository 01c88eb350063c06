package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// limitCase is a row of limits.yaml: what policies and bounds make of a count.
type limitCase struct {
	upstreamCase
	Older    bool             `json:"older"`
	Bounds   algorithm.Bounds `json:"bounds"`
	Replicas int32            `json:"replicas"`
	Desired  int32            `json:"desired"`
	Behavior *tableBehavior   `json:"behavior"`
	Ups      []scaleChange    `json:"ups"`
	Downs    []scaleChange    `json:"downs"`
	Want     struct {
		Replicas int32            `json:"replicas"`
		Reason   algorithm.Reason `json:"reason"`
	} `json:"want"`
}

// scaleChange is one of the scale, as a count.
type scaleChange struct {
	Change int32   `json:"change"`
	Ago    timeAgo `json:"ago"`
	// Outdated: it has been found to be older than every policy's period.
	Outdated bool `json:"outdated"`
}

// changeEvents are changes as the algorithm has them, sign -1 for those downward.
func changeEvents(sign int32, changes []scaleChange) []algorithm.Event {
	var converted []algorithm.Event
	for _, c := range changes {
		converted = append(converted, algorithm.Event{At: c.Ago.time(), Change: sign * c.Change})
	}
	return converted
}

func (c limitCase) check(t *testing.T) {
	got := c.limit()
	if got.Replicas != c.Want.Replicas || got.Reason != c.Want.Reason {
		t.Errorf("got %d, %s; want %d, %s", got.Replicas, got.Reason, c.Want.Replicas, c.Want.Reason)
	}
}

func (c limitCase) limit() algorithm.Limited {
	if c.Older {
		state := &algorithm.State{Memory: algorithm.NewMemory(nil, nil)}
		return tableController().Reconcile(wish(c.Replicas, c.Desired, c.Bounds, nil), state).Limited
	}
	filled := algorithm.DefaultBehavior()
	if c.Behavior != nil {
		filled = *c.Behavior.filled()
	}
	changes := slices.Concat(changeEvents(1, c.Ups), changeEvents(-1, c.Downs))
	return algorithm.Limit(c.Replicas, c.Desired, c.Bounds, filled, changes, tableNow)
}

// windowCase is a row of windows.yaml: what a window makes of a count, and what is
// remembered afterwards.
type windowCase struct {
	upstreamCase
	Older    bool  `json:"older"`
	Replicas int32 `json:"replicas"`
	Desired  int32 `json:"desired"`
	Windows  struct {
		Up   timeAgo `json:"up"`
		Down timeAgo `json:"down"`
	} `json:"windows"`
	Memory []recommendation `json:"memory"`
	Want   struct {
		Replicas int32            `json:"replicas"`
		Memory   []recommendation `json:"memory"`
	} `json:"want"`
}

func (c windowCase) check(t *testing.T) {
	if got, _ := c.reconcile(); got.Stabilized.Replicas != c.Want.Replicas {
		t.Errorf("got %d, want %d", got.Stabilized.Replicas, c.Want.Replicas)
	}
	if c.Want.Memory == nil {
		return
	}
	for _, r := range slices.Concat(c.Memory, c.Want.Memory) {
		if window := time.Duration(r.Ago) + time.Second; window <= algorithm.MaxWindow {
			c.checkMemory(t, window)
		}
	}
}

func (c windowCase) reconcile() (algorithm.Outcome, *algorithm.State) {
	b := windowed(time.Duration(c.Windows.Up), time.Duration(c.Windows.Down))
	if c.Older {
		b = nil
	}
	state := &algorithm.State{Memory: remembering(c.Memory)}
	return tableController().Reconcile(wish(c.Replicas, c.Desired, anyCount(), b), state), state
}

// checkMemory asks what is remembered of the time since window ago: a wish for none comes
// down to the largest, and a wish for a great many comes up to the smallest.
func (c windowCase) checkMemory(t *testing.T, window time.Duration) {
	const none, one, many = 0, 1, 100_000
	largest, smallest := int32(none), int32(many)
	for _, r := range c.Want.Memory {
		if time.Duration(r.Ago) < window {
			largest, smallest = max(largest, r.Replicas), min(smallest, r.Replicas)
		}
	}
	for _, question := range []struct {
		current, desired, want int32
		is                     string
	}{
		{many, none, largest, "largest"},
		{one, many, smallest, "smallest"},
	} {
		_, state := c.reconcile()
		in := wish(question.current, question.desired, anyCount(), windowed(window, window))
		if got := tableController().Reconcile(in, state).Stabilized.Replicas; got != question.want {
			t.Errorf("the %s remembered of the last %v is %d, want %d", question.is, window, got, question.want)
		}
	}
}

// eventCase is a row of events.yaml: which changes of scale are remembered.
type eventCase struct {
	upstreamCase
	Change   int32         `json:"change"`
	Policies []tablePolicy `json:"policies"`
	Before   []scaleChange `json:"before"`
	Want     struct {
		PerMinute int32         `json:"perMinute"`
		After     []scaleChange `json:"after"`
	} `json:"want"`
}

func (c eventCase) check(t *testing.T) {
	for _, d := range []eventDirection{{c, "up", 1}, {c, "down", -1}} {
		if got := d.changed(d.remembered(), time.Minute); got != c.Want.PerMinute {
			t.Errorf("%s: %d within a minute before, want %d", d.name, got, c.Want.PerMinute)
		}
		once := func() *algorithm.State { return d.scale(t, d.remembered(), c.Change, d.behavior()) }
		d.compare(t, "after a change", once, c.Want.After)

		// The next change takes the place of the last one that is outdated, though its
		// own policies would reach that.
		next := append(slices.Clone(c.Want.After), scaleChange{Change: 1000})
		for i, e := range slices.Backward(c.Want.After) {
			if e.Outdated {
				next = slices.Delete(next, i, i+1)
				break
			}
		}
		longest := d.policies([]algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: 1, Period: algorithm.MaxPeriod}})
		d.compare(t, "after two changes", func() *algorithm.State { return d.scale(t, once(), 1000, longest) }, next)
	}
}

// eventDirection is an eventCase in one of the two directions that a scale changes in.
type eventDirection struct {
	eventCase
	name string
	sign int32
}

func (d eventDirection) remembered() *algorithm.State {
	return &algorithm.State{Memory: algorithm.NewMemory(nil, changeEvents(d.sign, d.Before))}
}

func (d eventDirection) behavior() *algorithm.Behavior {
	if d.Policies == nil {
		return nil
	}
	return d.policies(ratePolicies(d.Policies))
}

// policies is a behavior without windows and with these policies in the direction.
func (d eventDirection) policies(policies []algorithm.RatePolicy) *algorithm.Behavior {
	b := windowed(0, 0)
	if d.sign > 0 {
		b.ScaleUp.Policies = policies
	} else {
		b.ScaleDown.Policies = policies
	}
	return b
}

// scale changes the scale by exactly that many: it was outside of the bounds.
func (d eventDirection) scale(t *testing.T, s *algorithm.State, by int32, b *algorithm.Behavior) *algorithm.State {
	const from = 2000
	to := from + d.sign*by
	in := wish(from, from, algorithm.Bounds{Min: to, Max: to}, b)
	if got := tableController().Reconcile(in, s); got.Replicas != to || !got.Rescaled {
		t.Fatalf("%s: scaled to %d, want %d", d.name, got.Replicas, to)
	}
	return s
}

// compare asks for what changed since each of the changes that there were.
func (d eventDirection) compare(t *testing.T, when string, state func() *algorithm.State, want []scaleChange) {
	for _, c := range slices.Concat(d.Before, want) {
		period, sum := time.Duration(c.Ago)+time.Second, int32(0)
		for _, e := range want {
			if time.Duration(e.Ago) < period {
				sum += e.Change
			}
		}
		if got := d.changed(state(), period); got != sum {
			t.Errorf("%s %s: %d within %v, want %d", d.name, when, got, period, sum)
		}
	}
}

// changed is what the changes remembered within a period come to: a policy of so many pods
// allows that much less than it would of none.
func (d eventDirection) changed(s *algorithm.State, period time.Duration) int32 {
	const current, pods, far = 50_000, 10_000, 30_000
	b := d.policies([]algorithm.RatePolicy{{Type: algorithm.PodsPolicy, Value: pods, Period: period}})
	got := tableController().Reconcile(wish(current, current+d.sign*far, anyCount(), b), s)
	return pods - d.sign*(got.Limited.Replicas-current)
}
