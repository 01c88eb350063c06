package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// answer is one answer of a replica, of GetMetrics or of IsActive, or of the adapter,
// which tells both by one number.
type answer struct {
	from            string // the replica's name, or client for whoever the round robin chose
	asked, answered time.Duration
	counts          bool // count is meaningful
	count           int32
	tells           bool // active is meaningful
	active          bool
}

// trial is what a run is judged by.
type trial struct {
	reference reference
	replicas  *timeline
	// blind is the time in which nobody could read the source: nobody can know what to
	// raise to, and the count that runs is the right answer. Zero if there was none.
	blind span
}

// span is a time from a moment to another.
type span struct{ from, to time.Duration }

func (s span) meets(other span) bool { return s.to > 0 && s.from <= other.to && other.from <= s.to }

// tolerance is how much earlier or later than the reference an answer may be: a reading
// is up to an interval old, on either side, and the rest is for the way to the source, to
// the informer, and for a busy machine. See the package's documentation.
const tolerance = interval + time.Second

// sight is how long what runs may have run before an answer has to know it: the informer's
// way, on a busy machine.
const sight = 500 * time.Millisecond

// verdict is what is wrong with the answers of a run.
type verdict struct {
	// Answers were judged, of which Below are counts below the reference's, Zeros told a
	// workload that runs to sleep and Wakes one that sleeps to run, both without reason.
	Answers, Below, Zeros, Wakes int
	// Late is the longest time in which an answer after the other did not raise what the
	// reference raises: nothing is taken from a workload then, but it waits.
	Late time.Duration
	// Examples are the first few of them in words.
	Examples []string
}

// maxExamples is how many faults are told in words.
const maxExamples = 8

func (v *verdict) blame(what *int, format string, args ...any) {
	*what++
	if len(v.Examples) < maxExamples {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

// judge compares every answer with the reference around it.
func (t trial) judge(answers []answer) verdict {
	var v verdict
	// Who told what: one who answers counts in time may yet be late to wake.
	type voice struct {
		from   string
		counts bool
	}
	late := map[voice][]sample{}
	for _, a := range answers {
		v.Answers++
		who := voice{a.from, a.counts}
		late[who] = append(late[who], sample{a.answered, t.judgeOne(&v, a)})
	}
	for _, samples := range late {
		slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
		v.Late = max(v.Late, disagreement(samples, 0))
	}
	return v
}

// judgeOne reports whether an answer is late: not what the reference raises to, but no
// less than what runs. What else is wrong with it goes into the verdict.
func (t trial) judgeOne(v *verdict, a answer) (late bool) {
	around := span{a.asked - tolerance, a.answered + tolerance}
	since, _ := t.replicas.within(a.asked-sight, a.answered)
	wanted, allActive, noneActive := t.reference.within(around.from, around.to).lowest()
	least, most := t.replicas.within(around.from, a.answered)
	runs, sleeps := least > 0, most == 0
	blind := t.blind.meets(around)
	if blind {
		wanted = min(wanted, least)
	}
	at := a.answered.Round(100 * time.Millisecond)
	switch {
	case a.tells && !a.active && runs && allActive:
		v.blame(&v.Zeros, "%v %s: inactive at %d, the reference is active", at, a.from, least)
	case a.tells && a.active && sleeps && noneActive:
		v.blame(&v.Wakes, "%v %s: active at zero, the reference is not", at, a.from)
	case a.tells && !a.active && sleeps && allActive && !blind:
		return true
	case a.counts && runs && a.count < min(wanted, since):
		v.blame(&v.Below, "%v %s: %d at %d to %d, the reference at least %d", at, a.from, a.count, since, most, wanted)
	case a.counts && runs && a.count < wanted:
		return true
	}
	return false
}

// sample is what replicas answered that were asked at the same time, twice in a row if
// they differed the first time; or one answer beside the reference's.
type sample struct {
	at     time.Duration
	differ bool
}

// disagreement is the longest time, from a moment on, in which sample after sample the
// replicas differed: from the first such sample, or the moment, to the last. Samples that
// nobody or one replica answered are not among them.
func disagreement(samples []sample, healed time.Duration) time.Duration {
	var longest time.Duration
	since := time.Duration(-1)
	for _, s := range samples {
		switch {
		case s.at < healed:
		case !s.differ:
			since = -1
		case since < 0:
			since = s.at
		default:
			longest = max(longest, s.at-since)
		}
	}
	return longest
}

// silence is the longest time in which the client got no count, from the first to the end.
func silence(answers []answer, end time.Duration) time.Duration {
	var heard []time.Duration
	for _, a := range answers {
		if a.from == client && a.counts {
			heard = append(heard, a.answered)
		}
	}
	if len(heard) == 0 {
		return end
	}
	slices.Sort(heard)
	longest, last := time.Duration(0), heard[0]
	for _, at := range append(heard, end) {
		longest, last = max(longest, at-last), at
	}
	return longest
}
