package conformance

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/test/conformance/oracle"
)

var encode = flag.String("encode", "ends", "how a count is shown to be out of reach: by the ends of the values that could ask for it and some between (ends), or by every one of them (full)")

// Encode is tried for every count up to mostReplicas, wanted and current.
const mostReplicas = 300

var (
	encodeTargets    = []algorithm.Milli{250, 1000, 3000, 7500, 1_000_000}
	encodeTolerances = []algorithm.Tolerance{
		{Down: 0, Up: 0}, {Down: 0.05, Up: 0.05}, {Down: 0.1, Up: 0.1},
		{Down: 0, Up: 0.1}, {Down: 0.1, Up: 0}, {Down: 0.05, Up: 0.02},
	}
)

// TestEncode sends what Encode answers to upstream's calculator. A count that it calls
// reachable has to be what upstream wants then, exactly. One that it calls unreachable
// has to be: upstream, asked with the values that could ask for it, wants something
// else.
func TestEncode(t *testing.T) {
	if *encode != "ends" && *encode != "full" {
		t.Fatalf("-encode %q is neither ends nor full", *encode)
	}
	results := make([]encodeResult, len(encodeTargets)*len(encodeTolerances))
	t.Run("of", func(t *testing.T) {
		for i, tolerance := range encodeTolerances {
			for j, target := range encodeTargets {
				t.Run(fmt.Sprintf("target=%v/down=%v/up=%v", target.Float(), tolerance.Down, tolerance.Up), func(t *testing.T) {
					t.Parallel()
					e := encoding{t: t, target: target, tolerance: tolerance, upstream: oracle.NewExternalAverage(target, tolerance)}
					e.tryAll()
					results[i*len(encodeTargets)+j] = e.result
				})
			}
		}
	})
	t.Log(reportEncode(results))
}

// encodeResult counts the triples of wanted, current and status. values are those with
// which upstream was asked for counts that are out of reach.
type encodeResult struct{ reachable, unreachable, misses, values int }

func reportEncode(results []encodeResult) string {
	var b strings.Builder
	var sum encodeResult
	for i, tolerance := range encodeTolerances {
		for j, target := range encodeTargets {
			r := results[i*len(encodeTargets)+j]
			fmt.Fprintf(&b, "\ntolerance %4v down %4v up, target %6v: %8d reachable, misses %d; %7d unreachable, %9d values tried in vain",
				tolerance.Down, tolerance.Up, target.Float(), r.reachable, r.misses, r.unreachable, r.values)
			sum.reachable += r.reachable
			sum.unreachable += r.unreachable
			sum.misses += r.misses
			sum.values += r.values
		}
	}
	return fmt.Sprintf("Encode of all counts to %d: %d reachable, misses %d; %d unreachable, %d values tried in vain%s",
		mostReplicas, sum.reachable, sum.misses, sum.unreachable, sum.values, &b)
}

// encoding is Encode for one target and tolerance, beside upstream.
type encoding struct {
	t         *testing.T
	target    algorithm.Milli
	tolerance algorithm.Tolerance
	upstream  *oracle.ExternalAverage
	result    encodeResult
	// beyond remembers which counts are out of reach of a status.
	beyond map[step]bool
}

type step struct{ wanted, status int32 }

func (e *encoding) tryAll() {
	e.beyond = map[step]bool{}
	for current := range int32(mostReplicas + 1) {
		for _, status := range statusesOf(current) {
			for wanted := range int32(mostReplicas + 1) {
				e.try(wanted, current, status)
			}
		}
		if e.result.misses > 0 {
			return // all that follows would say the same
		}
	}
}

// statusesOf are status.replicas beside a spec.replicas: the same, a little and a quarter
// off, as while a rollout or a quota keeps them apart, and 0.
func statusesOf(current int32) []int32 {
	quarter := current / 4
	statuses := []int32{current, current - 1, current + 1, current - 5, current + 5, current - quarter, current + quarter, 0}
	statuses = slices.DeleteFunc(statuses, func(status int32) bool { return status < 0 })
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

func (e *encoding) try(wanted, current, status int32) {
	got := algorithm.Encode(wanted, current, status, e.target, e.tolerance)
	landed := e.upstream.Replicas(got.Value, status)
	if got.Reachable {
		e.result.reachable++
		if landed != wanted {
			e.miss("%d replicas of %d (status %d): %d is sent, upstream wants %d", wanted, current, status, got.Value, landed)
		}
		return
	}
	e.result.unreachable++
	if !e.outOfReach(wanted, status) {
		e.miss("%d replicas of %d (status %d) are called unreachable, and are not", wanted, current, status)
	}
	kept := landed == current || (landed == status && e.outOfReach(current, status))
	if !kept {
		e.miss("%d replicas of %d (status %d) are unreachable, and %d is sent to keep the count: upstream wants %d", wanted, current, status, got.Value, landed)
	}
}

func (e *encoding) miss(format string, args ...any) {
	e.t.Helper()
	if e.result.misses++; e.result.misses <= 3 {
		e.t.Errorf(format, args...)
	}
}

// outOfReach asks upstream whether no value makes it want the count.
//
// Outside of its tolerance upstream wants ceil(value/target). That is the count for the
// values above (wanted-1)*target and up to wanted*target, and for no others; inside it
// wants status. So only these values have to be tried. The ratio that is compared to the
// tolerance is one rounded division of the value by a constant and so never falls as the
// value rises, and the tolerance is one interval: if both ends of the values are inside,
// so are all. What lies between is tried nevertheless, with -encode full all of it for
// every target up to 7.5.
func (e *encoding) outOfReach(wanted, status int32) bool {
	key := step{wanted, status}
	beyond, known := e.beyond[key]
	if !known {
		beyond = e.tryInVain(wanted, status)
		e.beyond[key] = beyond
	}
	return beyond
}

// The most values that are tried of those that could ask for one count.
const (
	someValues = 8
	allValues  = 7500
)

func (e *encoding) tryInVain(wanted, status int32) bool {
	if wanted == status {
		return false // whatever is inside of the tolerance asks for it
	}
	first, last := (algorithm.Milli(wanted)-1)*e.target+1, algorithm.Milli(wanted)*e.target
	if wanted == 0 {
		first = 0 // of a negative value upstream makes the largest count there is
	}
	most := algorithm.Milli(someValues)
	if *encode == "full" {
		most = allValues
	}
	for value := first; value <= last; value += max((last-first)/most, 1) {
		e.result.values++
		if e.upstream.Replicas(value, status) == wanted {
			return false
		}
	}
	return e.upstream.Replicas(last, status) != wanted
}
