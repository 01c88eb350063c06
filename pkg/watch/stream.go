package watch

import (
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// stream is one open push stream. The watcher's lock guards it.
type stream struct {
	ref    scaling.Ref
	policy *scaling.Policy
	// probes are what to read; none if the policy cannot be followed.
	probes []*probe
	// outcomes has the latest answer for each trigger.
	outcomes []scaling.Outcome

	// announce wakes the handler to send, ended to return.
	announce chan struct{}
	ended    chan struct{}
	// gone: the handler has returned, or is about to.
	gone bool

	// due is when the scheduler has to look at it, index its place in the heap or
	// -1. phase is its place within an interval between reads, the same for all its life.
	due      time.Time
	index    int
	interval time.Duration
	phase    time.Duration
	expires  time.Time

	// known is false until the first evaluation.
	known     bool
	announcer announcer
	// evaluating: an evaluation is queued or under way. wanted: outcomes have come
	// that call for one.
	evaluating, wanted bool
}

// probe is the triggers of one stream that live on one server.
type probe struct {
	stream   *stream
	server   string
	triggers []int
	// queued says for each lane whether the probe waits in it.
	queued [lanesPerServer]bool
	// answered is false while the stream's outcomes for it are missing or old.
	answered bool
}

func newStream(ref scaling.Ref, policy *scaling.Policy) *stream {
	s := &stream{
		ref: ref, policy: policy, index: -1,
		announce: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if policy.Invalid != nil {
		return s
	}
	s.outcomes = make([]scaling.Outcome, len(policy.Triggers))
	for i, trigger := range policy.Triggers {
		if trigger.NeedsWorkload() { // of which nothing is known here; and it is no work
			continue
		}
		p := s.probeOf(scaling.In(trigger.Query, scaling.Scope{Namespace: ref.Namespace}).Server())
		p.triggers = append(p.triggers, i)
	}
	return s
}

// probeOf returns the stream's probe of a server, a new one if need be.
func (s *stream) probeOf(server string) *probe {
	for _, p := range s.probes {
		if p.server == server {
			return p
		}
	}
	p := &probe{stream: s, server: server}
	s.probes = append(s.probes, p)
	return p
}

// end makes the handler return nil.
func (s *stream) end() {
	if !s.gone {
		s.gone = true
		close(s.ended)
	}
}

// inactive reports whether the stream is one whose triggers are read.
func (s *stream) inactive() bool {
	return s.known && !s.announcer.active && len(s.probes) > 0
}

// forgetOutcomes makes the next evaluation wait for an answer of every server.
func (s *stream) forgetOutcomes() {
	for _, p := range s.probes {
		p.answered = false
	}
}

// answered reports whether every server has answered, be it with an error.
func (s *stream) answered() bool {
	for _, p := range s.probes {
		if !p.answered {
			return false
		}
	}
	return true
}
