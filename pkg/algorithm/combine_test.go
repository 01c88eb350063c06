package algorithm

import (
	"testing"
)

func TestCombine(t *testing.T) {
	n := func(replicas int32) Proposal { return Proposal{Replicas: replicas} }
	failed := Proposal{Failed: true}
	for _, tt := range []struct {
		name      string
		current   int32
		proposals []Proposal
		replicas  int32
		index     int
		ok        bool
	}{
		{"one", 3, []Proposal{n(5)}, 5, 0, true},
		{"the largest", 3, []Proposal{n(5), n(9), n(7)}, 9, 1, true},
		{"a tie keeps the earlier", 3, []Proposal{n(5), n(9), n(9)}, 9, 1, true},
		{"at 0 the later wins", 3, []Proposal{n(0), n(0), n(0)}, 0, 2, true},
		{"leading zeros are overwritten", 3, []Proposal{n(0), n(0), n(4), n(4)}, 4, 2, true},
		{"a later 0 changes nothing", 3, []Proposal{n(4), n(0)}, 4, 0, true},
		{"none", 3, nil, 0, -1, false},
		{"all failed", 3, []Proposal{failed, failed}, 0, -1, false},
		{"all failed at zero", 0, []Proposal{failed}, 0, -1, false},
		{"some failed: up proceeds", 3, []Proposal{failed, n(4)}, 4, 1, true},
		{"some failed: equality proceeds", 3, []Proposal{n(3), failed}, 3, 0, true},
		{"some failed: down is held", 3, []Proposal{n(2), failed}, 0, -1, false},
		{"some failed: equality at zero proceeds", 0, []Proposal{n(0), failed}, 0, 0, true},
		{"the count of a failed one is not read", 3, []Proposal{{Replicas: 99, Failed: true}, n(4)}, 4, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replicas, index, ok := Combine(tt.current, tt.proposals)
			if replicas != tt.replicas || index != tt.index || ok != tt.ok {
				t.Errorf("got %d, %d, %v; want %d, %d, %v", replicas, index, ok, tt.replicas, tt.index, tt.ok)
			}
		})
	}
}

// computeReplicasForMetrics follows upstream's loop; the metric's name is its
// index, "" is -1. After it, reconcileAutoscaler takes a count only if it is above
// its own 0.
func computeReplicasForMetrics(specReplicas int32, proposals []Proposal) (replicas int32, metric int, ok bool) {
	metric = -1
	invalidMetricsCount := 0
	for i, p := range proposals {
		if p.Failed {
			invalidMetricsCount++
			continue
		}
		if replicas == 0 || p.Replicas > replicas {
			replicas = p.Replicas
			metric = i
		}
	}
	if invalidMetricsCount >= len(proposals) || (invalidMetricsCount > 0 && replicas < specReplicas) {
		return 0, -1, false
	}
	desiredReplicas := int32(0)
	if replicas > desiredReplicas {
		desiredReplicas = replicas
	}
	return desiredReplicas, metric, true
}

func TestCombineIsUpstreams(t *testing.T) {
	r := newRandom(t)
	for range propertyCases {
		current := r.Int32N(6)
		proposals := make([]Proposal, r.IntN(6))
		for i := range proposals {
			proposals[i] = Proposal{Replicas: r.Int32N(7) - 1, Failed: r.IntN(4) == 0}
		}
		replicas, index, ok := Combine(current, proposals)
		wantReplicas, wantIndex, wantOK := computeReplicasForMetrics(current, proposals)
		if replicas != wantReplicas || index != wantIndex || ok != wantOK {
			t.Fatalf("Combine(%d, %+v) = %d, %d, %v; upstream %d, %d, %v",
				current, proposals, replicas, index, ok, wantReplicas, wantIndex, wantOK)
		}
	}
}
