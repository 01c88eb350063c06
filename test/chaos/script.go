package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// plateau is a value of the source from a moment on.
type plateau struct {
	from  time.Duration
	value float64
}

// moment is a part of the script in which a fault can do a harm of its own.
type moment string

// A fault is injected in the moment that its seed chooses: seed 1 in the dip, 2 at zero.
const (
	inDip      moment = "dip"      // shorter than the window: what is forgotten scales down
	atZero     moment = "zero"     // asleep: what is forgotten wakes
	inCooldown moment = "cooldown" // quiet, not yet over: what is forgotten sleeps too soon
	inGlide    moment = "glide"    // on the way down: what is forgotten is a policy's period
)

var moments = []moment{inDip, atZero, inCooldown, inGlide}

// script is the load of one cell, and when its fault is injected. Every plateau lasts
// several intervals, so that whoever reads once an interval sees it.
type script struct {
	seed     uint64
	plateaus []plateau
	moment   moment
	fault    time.Duration
	length   time.Duration
}

// newScript makes the script of a seed. With 5 jobs per replica it asks for
//
//	0 · 8 to 12 · 0 to 2 (8 s, window 15 s) · 6 to 8 · 3 or 4 (21 s) · 0 (31 s, cooldown 15 s) · 3 to 6 · 2
//
// replicas, each plateau up to a second earlier or later.
func newScript(seed uint64) script {
	random := rand.New(rand.NewPCG(seed, 0))
	s := script{seed: seed, moment: moments[(seed+uint64(len(moments))-1)%uint64(len(moments))]}
	at := time.Duration(0)
	add := func(least, most int, lasts time.Duration) (from time.Duration) {
		from = at
		replicas := least + random.IntN(most-least+1)
		s.plateaus = append(s.plateaus, plateau{at, float64(5 * replicas)})
		at += lasts + time.Duration(random.IntN(1000)-500)*time.Millisecond
		return from
	}
	add(0, 0, 3*time.Second)
	add(8, 12, 10*time.Second)
	dip := add(0, 2, 8*time.Second)
	add(6, 8, 9*time.Second)
	low := add(3, 4, 21*time.Second)
	quiet := add(0, 0, 31*time.Second)
	add(3, 6, 10*time.Second)
	add(2, 2, 8*time.Second)
	s.length = at
	s.fault = map[moment]time.Duration{
		inDip:      dip + 2*time.Second,
		inGlide:    low + 16*time.Second,
		inCooldown: quiet + 5*time.Second,
		atZero:     quiet + 26*time.Second,
	}[s.moment]
	return s
}

// at is the source's value at a moment of the cell.
func (s script) at(t time.Duration) float64 {
	i, found := slices.BinarySearchFunc(s.plateaus, t, func(p plateau, t time.Duration) int { return int(p.from - t) })
	if !found {
		i--
	}
	return s.plateaus[max(i, 0)].value
}
