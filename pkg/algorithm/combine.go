package algorithm

// Proposal is what one metric asks for; Failed means that it could not be read.
type Proposal struct {
	Replicas int32
	Failed   bool
}

// Combine takes the largest proposal, as the HPA does over its metrics. index is
// the proposal that decided: a tie keeps the earlier one, except at 0, where the
// later wins. ok is false when nothing may be decided: every metric failed, or
// some did and the others ask for less than current. A failing metric can
// therefore hold a scale-down and never a scale-up.
//
// Source: horizontal.go, computeReplicasForMetrics.
func Combine(current int32, proposals []Proposal) (replicas int32, index int, ok bool) {
	var c Combination
	for _, p := range proposals {
		c.Add(p)
	}
	return c.Result(current)
}

// Combination is Combine for proposals that come one by one. The zero value has none.
type Combination struct {
	replicas int32
	seen     int
	decider  int // its number, counted from 1; 0 while none has
	failed   bool
}

// Add takes the next proposal.
func (c *Combination) Add(p Proposal) {
	c.seen++
	switch {
	case p.Failed:
		c.failed = true
	case c.decider == 0 || c.replicas == 0 || p.Replicas > c.replicas:
		c.replicas, c.decider = p.Replicas, c.seen
	}
}

// Result is what Combine returns for the proposals taken.
func (c *Combination) Result(current int32) (replicas int32, index int, ok bool) {
	if c.decider == 0 || (c.failed && c.replicas < current) {
		return 0, -1, false
	}
	return max(c.replicas, 0), c.decider - 1, true
}
