package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestScript(t *testing.T) {
	for seed, want := range []moment{inGlide, inDip, atZero, inCooldown, inGlide, inDip} {
		s := newScript(uint64(seed))
		if s.moment != want {
			t.Errorf("seed %d: the fault comes in the %s, want %s", seed, s.moment, want)
		}
		if s.fault <= 0 || s.fault >= s.length {
			t.Errorf("seed %d: the fault comes at %v of %v", seed, s.fault, s.length)
		}
		for i, p := range s.plateaus[1:] {
			if lasts := p.from - s.plateaus[i].from; lasts < 2*interval {
				t.Errorf("seed %d: plateau %d lasts %v", seed, i, lasts)
			}
		}
		if again := newScript(uint64(seed)); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("seed %d gives another script the second time", seed)
		}
	}
}

func TestScriptAt(t *testing.T) {
	s := script{plateaus: []plateau{{0, 0}, {time.Second, 5}, {3 * time.Second, 10}}}
	for at, want := range map[time.Duration]float64{-1: 0, 0: 0, time.Second - 1: 0, time.Second: 5, 2 * time.Second: 5, 3 * time.Second: 10, time.Hour: 10} {
		if got := s.at(at); got != want {
			t.Errorf("at %v: %g, want %g", at, got, want)
		}
	}
}

func TestTimeline(t *testing.T) {
	l := &timeline{}
	l.set(time.Second, 3)
	l.set(2*time.Second, 1)
	for _, test := range []struct{ from, to, least, most int32 }{
		{0, 0, 0, 0}, {0, 1, 0, 3}, {1, 1, 3, 3}, {0, 5, 0, 3}, {1, 2, 1, 3}, {3, 9, 1, 1},
	} {
		least, most := l.within(time.Duration(test.from)*time.Second, time.Duration(test.to)*time.Second)
		if least != test.least || most != test.most {
			t.Errorf("from %d s to %d s: %d to %d, want %d to %d", test.from, test.to, least, most, test.least, test.most)
		}
	}
}

// TestReference follows the reference through a script, with a workload that obeys it
// every second: up by 4 per 3 s, kept through the dip, down by 2 per 3 s when the window
// has passed, and asleep after the cooldown.
func TestReference(t *testing.T) {
	p, err := parse(metadata("http://127.0.0.1:1/"))
	if err != nil {
		t.Fatal(err)
	}
	load := script{plateaus: []plateau{{0, 0}, {3 * time.Second, 40}, {10 * time.Second, 5}, {15 * time.Second, 40}, {20 * time.Second, 0}}}
	replicas := &timeline{}
	var moves []string
	last := int32(0)
	for at := time.Second; at <= 60*time.Second; at += time.Second {
		ref, err := newReference(p, history{load: load, replicas: replicas, length: at})
		if err != nil {
			t.Fatal(err)
		}
		now := ref[len(ref)-1]
		count := now.replicas
		if !now.active {
			count = 0
		} else if last == 0 {
			count = 1
		}
		if count != last {
			moves = append(moves, fmt.Sprintf("%d@%d", count, at/time.Second))
			replicas.set(at+time.Millisecond, count)
			last = count
		}
	}
	const want = "1@3 5@4 8@7 6@35 4@38 2@41 1@44 0@45"
	if got := strings.Join(moves, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReferenceReads(t *testing.T) {
	load := script{plateaus: []plateau{{0, 0}, {10 * time.Second, 40}}}
	h := history{load: load, readings: []reading{{time.Second, 5}, {1010 * time.Millisecond, 6}, {20 * time.Second, 7}}, blind: span{12 * time.Second, 15 * time.Second}}
	for _, test := range []struct {
		last, now time.Duration
		want      float64 // -1 for nothing
	}{
		{0, time.Second / 2, -1},
		{0, 1100 * time.Millisecond, 6},            // the last of those that were read
		{time.Second, 2400 * time.Millisecond, -1}, // none is due
		{time.Second, 2500 * time.Millisecond, 0},  // one is, and nobody read
		{9 * time.Second, 11 * time.Second, 40},    //
		{11 * time.Second, 13 * time.Second, -1},   // blind
		{11 * time.Second, 19 * time.Second, -1},   // nobody has read since
		{11 * time.Second, 20 * time.Second, 7},    // now somebody has
		{20 * time.Second, 22 * time.Second, 40},   //
	} {
		read, got := h.reads(test.last, test.now), -1.0
		if read != nil {
			got = read.value
		}
		if got != test.want {
			t.Errorf("at %v, after a reading at %v: %g, want %g", test.now, test.last, got, test.want)
		}
	}
}
