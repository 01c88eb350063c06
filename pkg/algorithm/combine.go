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
	index = -1
	failed := false
	for i, p := range proposals {
		if p.Failed {
			failed = true
			continue
		}
		if index < 0 || replicas == 0 || p.Replicas > replicas {
			replicas, index = p.Replicas, i
		}
	}
	if index < 0 || (failed && replicas < current) {
		return 0, -1, false
	}
	return max(replicas, 0), index, true
}
