package oracle

import (
	"errors"
	"reflect"
	"slices"
	"time"
	_ "unsafe" // for the linkname below

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// Normalizer is upstream's way from what the metrics want to what is written: windows,
// policies and bounds of an HPA with a behavior. It is there to be measured, and so is
// always in the state of a controller that has been running for longer than its windows:
// every sample that it was given is inside of them, and the next one takes the slot of
// one that no longer is.
type Normalizer struct {
	controller *podautoscaler.HorizontalController
	hpa        *autoscalingv2.HorizontalPodAutoscaler
	slots      []recommendation
}

// recommendation has the layout of upstream's timestampedRecommendation.
type recommendation struct {
	replicas int32
	at       time.Time
}

const normalizerKey = hpaNamespace + "/" + hpaName

// NewNormalizer remembers the counts, which the controller recommended just now, for
// windows of at least a minute. It fails if upstream keeps its memory in another form, or
// where HPA does.
func NewNormalizer(spec algorithm.Spec, counts []int32) (*Normalizer, error) {
	hpa, err := HPA(spec, algorithm.DefaultController(), Explicit)
	if err != nil {
		return nil, err
	}
	n := &Normalizer{controller: &podautoscaler.HorizontalController{}, hpa: hpa, slots: make([]recommendation, len(counts)+1)}
	for i, count := range counts {
		n.slots[i] = recommendation{count, time.Now()}
	}
	memory := reflect.ValueOf(n.controller).Elem().FieldByName("recommendations")
	if !memory.IsValid() || !sameFields(memory.Type(), reflect.TypeFor[map[string][]recommendation]()) {
		return nil, errors.New("oracle: upstream's recommendations are no longer slices of a count and a time by key")
	}
	*(*map[string][]recommendation)(memory.Addr().UnsafePointer()) = map[string][]recommendation{normalizerKey: n.slots}
	return n, nil
}

// sameFields reports whether the elements of two maps of slices have fields of the same
// types.
func sameFields(a, b reflect.Type) bool {
	types := func(m reflect.Type) (list []reflect.Type) {
		element := m.Elem().Elem()
		for i := range element.NumField() {
			list = append(list, element.Field(i).Type)
		}
		return list
	}
	return slices.Equal(types(a), types(b))
}

// Normalize is what upstream makes of desired at a present count of current.
func (n *Normalizer) Normalize(current, desired int32) int32 {
	n.slots[len(n.slots)-1] = recommendation{} // long out of every window
	return normalize(n.controller, n.hpa, normalizerKey, current, desired, *n.hpa.Spec.MinReplicas)
}

//go:linkname normalize k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).normalizeDesiredReplicasWithBehaviors
func normalize(a *podautoscaler.HorizontalController, hpa *autoscalingv2.HorizontalPodAutoscaler, key string, currentReplicas, prenormalizedDesiredReplicas, minReplicas int32) int32
