package cluster

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// noteScaledObject has the kind that a ScaledObject scales watched.
func (o *Observer) noteScaledObject(obj any) {
	if so, ok := obj.(*scaledObject); ok {
		o.wantKind(so.target.GroupKind)
	}
	o.changed.ring()
}

// jobObservation is that of a ScaledJob, whose bounds are KEDA's own business.
var jobObservation = scaling.Observation{Job: true, Bounds: algorithm.Bounds{Min: 1, Max: math.MaxInt32}}

// lookAtKEDA is Observe of a ScaledObject without the waiting.
func (o *Observer) lookAtKEDA(ref scaling.Ref, metric string) (scaling.Observation, error) {
	so, ok := find[scaledObject](o.scaledObjects, ref.Namespace, ref.Name)
	if !ok {
		if _, isJob := find[scaledJob](o.scaledJobs, ref.Namespace, ref.Name); isJob && o.scaledObjects.isListed() {
			return jobObservation, nil
		}
		return scaling.Observation{}, o.scaledObjects.unobserved(ref.Namespace, ref.Name)
	}
	if so.problem != nil {
		return scaling.Observation{}, so.problem
	}
	known := scaling.Observation{Target: so.target.String()}
	// An HPA that does not exist is no reason to wait: KEDA writes it only after the
	// metric's name is known, and deletes it while it is paused.
	h, ok := find[hpa](o.hpas, so.Namespace, so.hpaName)
	if !ok && !o.hpas.isListed() {
		return known, o.hpas.unobserved(so.Namespace, so.hpaName)
	}
	if _, watched := o.workloads[so.target.GroupKind]; h == nil && !watched {
		return known, fmt.Errorf("replicas of %s: %w", so.target, o.hpas.unobserved(so.Namespace, so.hpaName))
	}
	counts, err := o.replicasOf(so.Namespace, so.target, h)
	if err != nil {
		return known, err
	}
	obs := observation(so, h, counts, metric)
	if h == nil { // KEDA is about to make it, and before that it is in nobody's way
		return obs, nil
	}
	if obs.HPA.Owners, err = o.ownersOf(so.Namespace, so.target); err != nil {
		return known, err
	}
	return obs, nil
}

// observation puts together what is seen; h is nil if there is no HPA.
func observation(so *scaledObject, h *hpa, counts replicas, metric string) scaling.Observation {
	obs := scaling.Observation{
		Target: so.target.String(), UID: string(so.UID),
		Spec: counts.spec, Status: counts.status, Revision: counts.revision,
		Bounds: so.bounds, ToZero: so.toZero, Cooldown: so.cooldown,
	}
	if counts.spec == 0 {
		obs.ZeroReason = so.paused
	}
	asking := -1
	if h != nil {
		m, asked := h.metric(metric)
		if asked {
			asking = m.trigger
		}
		obs.HPA = h.observed(m)
		obs.ValueType = m.value
	}
	obs.ValueType = obs.ValueType || so.servesValue(asking)
	obs.OtherWakes = so.otherWakes(asking)
	return obs
}

// Reference names the object of a request for an Event: the ScaledObject, or the
// ScaledJob if it is one. Its UID is empty if the object has not been seen.
func (o *Observer) Reference(ref scaling.Ref) corev1.ObjectReference {
	about := corev1.ObjectReference{APIVersion: kedaGroup + "/" + kedaVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if so, ok := find[scaledObject](o.scaledObjects, ref.Namespace, ref.Name); ok {
		about.UID = so.UID
	} else if job, ok := find[scaledJob](o.scaledJobs, ref.Namespace, ref.Name); ok {
		about.Kind, about.UID = kindScaledJob, job.UID
	}
	return about
}
