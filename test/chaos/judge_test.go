package main

import (
	"slices"
	"testing"
	"time"
)

// steady is a run in which the reference wants a number of replicas all the time, 0 to be
// inactive, and so many run.
func steady(wanted, running int32) trial {
	replicas := &timeline{}
	replicas.set(0, running)
	return trial{reference: slices.Repeat(reference{{max(wanted, 1), wanted > 0, wanted == 0}}, int(100*time.Second/tick)), replicas: replicas}
}

func count(n int32) answer {
	return answer{from: client, asked: 50 * time.Second, answered: 50100 * time.Millisecond, counts: true, count: n}
}

func active(is bool) answer {
	return answer{from: client, asked: 50 * time.Second, answered: 50100 * time.Millisecond, tells: true, active: is}
}

func TestJudge(t *testing.T) {
	blind := func(t trial) trial {
		t.blind = span{49 * time.Second, 60 * time.Second}
		return t
	}
	for _, test := range []struct {
		name                string
		trial               trial
		answer              answer
		below, zeros, wakes int
	}{
		{"as the reference", steady(8, 8), count(8), 0, 0, 0},
		{"above", steady(8, 8), count(9), 0, 0, 0},
		{"below", steady(8, 8), count(7), 1, 0, 0},
		{"a count at zero is not looked at", steady(8, 0), count(1), 0, 0, 0},
		{"active", steady(8, 8), active(true), 0, 0, 0},
		{"a wrong zero", steady(8, 8), active(false), 0, 1, 0},
		{"a right zero", steady(0, 8), active(false), 0, 0, 0},
		{"a wrong wake-up", steady(0, 0), active(true), 0, 0, 1},
		{"a right wake-up", steady(8, 0), active(true), 0, 0, 0},
		{"held awake", steady(0, 1), active(true), 0, 0, 0},
		{"not woken yet", steady(8, 0), active(false), 0, 0, 0},
		{"not raised yet", steady(8, 5), count(5), 0, 0, 0},
		{"lowered where it is to be raised", steady(8, 5), count(4), 1, 0, 0},
		{"blind: what runs is kept", blind(steady(8, 5)), count(5), 0, 0, 0},
		{"blind: less than runs", blind(steady(8, 5)), count(4), 1, 0, 0},
		{"blind: a wrong zero", blind(steady(8, 5)), active(false), 0, 1, 0},
		{"blind: not woken", blind(steady(8, 0)), active(false), 0, 0, 0},
		{"blind: a wrong wake-up", blind(steady(0, 0)), active(true), 0, 0, 1},
	} {
		v := test.trial.judge([]answer{test.answer})
		if v.Below != test.below || v.Zeros != test.zeros || v.Wakes != test.wakes {
			t.Errorf("%s: below %d, zeros %d, wakes %d; want %d, %d, %d", test.name, v.Below, v.Zeros, v.Wakes, test.below, test.zeros, test.wakes)
		}
		if wrong := test.below + test.zeros + test.wakes; len(v.Examples) != wrong || v.Answers != 1 {
			t.Errorf("%s: %d examples of %d faults, %d answers", test.name, len(v.Examples), wrong, v.Answers)
		}
	}
}

// TestLate: 8 are wanted all the time and 5 run.
func TestLate(t *testing.T) {
	at := func(s int, from string, n int32) answer {
		a := count(n)
		a.from, a.asked = from, time.Duration(50+s)*time.Second
		a.answered = a.asked
		return a
	}
	asleep := func(s int) answer {
		a := at(s, "a", 0)
		a.counts, a.tells = false, true
		return a
	}
	for _, test := range []struct {
		name    string
		running int32
		answers []answer
		want    time.Duration
	}{
		{"at once", 5, []answer{at(1, "a", 8), at(2, "a", 8)}, 0},
		{"after 3 s", 5, []answer{at(1, "a", 5), at(3, "a", 6), at(4, "a", 7), at(5, "a", 8)}, 3 * time.Second},
		{"in any order", 5, []answer{at(4, "a", 7), at(1, "a", 5), at(5, "a", 8)}, 3 * time.Second},
		{"one replica of two", 5, []answer{at(1, "a", 5), at(2, "b", 8), at(3, "a", 5), at(4, "b", 8)}, 2 * time.Second},
		{"lowered is not late", 5, []answer{at(1, "a", 4), at(3, "a", 4)}, 0},
		{"asleep", 0, []answer{asleep(1), at(2, "a", 8), asleep(5)}, 4 * time.Second},
	} {
		if v := steady(8, test.running).judge(test.answers); v.Late != test.want {
			t.Errorf("%s: %v, want %v", test.name, v.Late, test.want)
		}
	}
}

// Five run from 50 s on, where one ran, and eight are wanted.
func TestJudgeOfARaiseThatIsJustSeen(t *testing.T) {
	run := steady(8, 1)
	run.replicas.set(50*time.Second, 5)
	for at, below := range map[time.Duration]int{50400 * time.Millisecond: 0, 50600 * time.Millisecond: 1} {
		a := count(4)
		a.asked, a.answered = at, at
		if v := run.judge([]answer{a}); v.Below != below {
			t.Errorf("4 at %v: below %d, want %d", at, v.Below, below)
		}
	}
}

// A replica that has not seen a raise from 5 to 20 takes it back, and the HPA follows.
func TestJudgeOfARaiseThatIsTakenBack(t *testing.T) {
	run := steady(20, 5)
	run.replicas.set(50*time.Second, 20)
	run.replicas.set(51200*time.Millisecond, 5)
	a := count(5)
	a.asked, a.answered = 51*time.Second, 51100*time.Millisecond
	if v := run.judge([]answer{a}); v.Below != 1 {
		t.Errorf("%+v; want 1 below", v)
	}
}

// The reference goes from 8 to 4 at 50 s.
func TestJudgeLooksTwoSecondsAround(t *testing.T) {
	run := steady(8, 8)
	for i := int(50 * time.Second / tick); i < len(run.reference); i++ {
		run.reference[i].replicas = 4
	}
	for _, test := range []struct {
		at    time.Duration
		below int
	}{{47500 * time.Millisecond, 1}, {48100 * time.Millisecond, 0}, {53 * time.Second, 0}} {
		a := count(4)
		a.asked, a.answered = test.at, test.at
		if v := run.judge([]answer{a}); v.Below != test.below {
			t.Errorf("4 at %v: below %d, want %d", test.at, v.Below, test.below)
		}
	}
}

func TestDisagreement(t *testing.T) {
	series := func(differ string) []sample {
		var samples []sample
		for i, c := range differ {
			samples = append(samples, sample{time.Duration(i) * time.Second, c == 'x'})
		}
		return samples
	}
	for _, test := range []struct {
		differ string
		healed time.Duration
		want   time.Duration
	}{
		{"..........", 0, 0},
		{"...x......", 0, 0}, // less than between two samples
		{"...xxxx...", 0, 3 * time.Second},
		{"...xxxx...", 5 * time.Second, time.Second},
		{"xxx....xx.", 4 * time.Second, time.Second},
		{".......xxx", 0, 2 * time.Second},
	} {
		if got := disagreement(series(test.differ), test.healed); got != test.want {
			t.Errorf("%s healed at %v: %v, want %v", test.differ, test.healed, got, test.want)
		}
	}
}

func TestSilence(t *testing.T) {
	at := func(s int) answer {
		return answer{from: client, answered: time.Duration(s) * time.Second, counts: true}
	}
	other := at(5)
	other.from = "scaler-0"
	for _, test := range []struct {
		name    string
		answers []answer
		want    time.Duration
	}{
		{"every second", []answer{at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9)}, time.Second},
		{"a gap", []answer{at(1), at(2), at(8), at(9)}, 6 * time.Second},
		{"another's answers do not count", []answer{at(1), at(2), other, at(8), at(9)}, 6 * time.Second},
		{"to the end", []answer{at(1), at(2)}, 8 * time.Second},
		{"nothing", nil, 10 * time.Second},
	} {
		if got := silence(test.answers, 10*time.Second); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestLowerReference(t *testing.T) {
	got := reference{{8, true, false}, {8, true, false}, {1, false, true}}.lower(reference{{6, true, false}, {9, false, true}, {1, false, true}})
	if want := (reference{{6, true, false}, {8, false, false}, {1, false, true}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
