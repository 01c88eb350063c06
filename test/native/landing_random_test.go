//go:build e2e

package native_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// landing is one workload of P replicas and a reading that asks for another number of
// them, behind an HPA of random target and tolerances.
type landing struct {
	name, kind string
	place      *workload // where its objects are
	// before is P. If it is 0, the HPA has scaled to zero itself.
	before int32
	// quota is how many pods there can be, and so the most that status.replicas is; 0
	// for any number.
	quota int32
	// jobs wait, of which one replica takes perReplica; wanted is how many take all.
	jobs, perReplica int
	wanted           int32
	// passes: the StabilizedMetric has no behavior, and the HPA decides by the reading.
	passes   bool
	target   string
	up, down string // tolerances; empty for the cluster's, 0.1
	// opaque is an HPA behavior that changes what was decided; empty for one that, but
	// for the tolerances, does not.
	opaque string
}

func (l landing) String() string {
	return fmt.Sprintf("%s %s: P %d, pods at most %d, wanted %d (%d jobs, %d per replica, passed on: %t), target %s, tolerance up %q down %q, opaque %q",
		l.kind, l.name, l.before, l.quota, l.wanted, l.jobs, l.perReplica, l.passes, l.target, l.up, l.down, l.opaque)
}

// randomLanding prefers steps near a tolerance's edge, where an HPA may not follow.
func randomLanding(r *rand.Rand, i int) landing {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	tolerances := []string{"", "0", "0.01", "0.05", "0.1", "0.25", "0.5"}
	l := landing{
		name: fmt.Sprintf("landing-%d", i), kind: pick("Deployment", "ReplicaSet", "StatefulSet"),
		before: 1 + r.Int32N(largest), wanted: r.Int32N(largest + 1),
		perReplica: 1 + r.IntN(7), passes: r.IntN(4) == 0,
		target: pick("1", "2", "500m", "333m", "7", "12500m", fmt.Sprintf("%dm", 1+r.IntN(20_000))),
		up:     pick(tolerances...), down: pick(tolerances...),
	}
	near := max(1, l.before/5)
	if r.IntN(2) == 0 {
		l.wanted = l.before - near + r.Int32N(2*near+1)
	}
	switch start := r.IntN(5); {
	case start == 0:
		l.before = 0
	case start == 1 && l.before > 1:
		l.quota = l.before - 1 - r.Int32N(min(near, l.before-1))
		// A StatefulSet deletes no pod while it may not create one of a lower number.
		l.kind = pick("Deployment", "ReplicaSet")
	}
	if l.wanted > 0 {
		l.jobs = int(l.wanted)*l.perReplica - r.IntN(l.perReplica)
	}
	if !l.passes && r.IntN(8) == 0 {
		l.opaque = pick(opaqueUp...)
		if l.before > 0 && r.IntN(2) == 0 { // it would not get to zero with one of these
			l.opaque = pick(opaqueDown...)
		}
	}
	return l
}

// opaqueUp and opaqueDown hold a step for longer than the test takes.
var (
	opaqueUp = []string{
		"scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1800}]}",
		"scaleUp: {stabilizationWindowSeconds: 1800}",
	}
	opaqueDown = []string{
		"scaleDown: {stabilizationWindowSeconds: 1800}",
		"scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 1800}]}",
	}
)

// asleep: the HPA scales it to zero first.
func (l landing) asleep() bool { return l.before == 0 }

// pods is status.replicas, once the pods that there can be are there.
func (l landing) pods(replicas int32) int32 {
	if l.quota > 0 {
		return min(replicas, l.quota)
	}
	return replicas
}

// averageValue is the HPA's target in milli.
func (l landing) averageValue() algorithm.Milli {
	target := resource.MustParse(l.target)
	return algorithm.Milli(target.MilliValue())
}

// reading is what is passed on: the jobs in the unit of the HPA's target.
func (l landing) reading() float64 {
	return float64(l.jobs) / float64(l.perReplica) * l.averageValue().Float()
}

// tolerance is what the HPA controller makes of the two.
func (l landing) tolerance() algorithm.Tolerance {
	return algorithm.Tolerance{Up: fraction(l.up), Down: fraction(l.down)}
}

// unreachable: not one value that asks for the wanted count takes the HPA there.
func (l landing) unreachable(status int32) bool {
	target := l.averageValue()
	for value := max(0, target*algorithm.Milli(l.wanted-1)+1); value <= target.Times(l.wanted); value++ {
		if replicas, _ := algorithm.AverageValue(value, target, status, l.tolerance()); replicas == l.wanted {
			return false
		}
	}
	return true
}

// byFormula is where the HPA's own formula and tolerances take the workload with a
// value. Inside of a tolerance that is status.replicas, which may lie below P.
func (l landing) byFormula(value algorithm.Milli) int32 {
	for replicas := l.before; ; {
		next, _ := algorithm.AverageValue(value, l.averageValue(), l.pods(replicas), l.tolerance())
		if next == replicas {
			return replicas
		}
		replicas = next
	}
}

// fraction is a tolerance as the HPA controller reads it.
func fraction(text string) float64 {
	if text == "" {
		return algorithm.DefaultTolerance
	}
	stored := resource.MustParse(text)
	return float64(stored.MilliValue()) * 0.001
}

// rules are those of one direction: the opaque ones if they are of it.
func rules(tolerance, opaque, direction string) string {
	words := "stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 100000, periodSeconds: 1}]"
	if own, ok := strings.CutPrefix(opaque, direction+": {"); ok {
		words = strings.TrimSuffix(own, "}")
	}
	if tolerance != "" {
		words += fmt.Sprintf(", tolerance: %q", tolerance)
	}
	return direction + ": {" + words + "}"
}
