package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// KEDA's objects and annotations, version 2.21.
const (
	kedaGroup     = "keda.sh"
	kedaVersion   = "v1alpha1"
	kindScaledJob = "ScaledJob"

	pausedReplicasAnnotation = "autoscaling.keda.sh/paused-replicas"
	pausedAnnotation         = "autoscaling.keda.sh/paused"
)

// scaledObject is what is used of a ScaledObject, with KEDA's defaults filled in.
type scaledObject struct {
	metav1.ObjectMeta
	// problem is why the rest could not be read; nil for every object that the
	// API server has validated.
	problem  error
	target   target
	bounds   algorithm.Bounds
	toZero   bool
	cooldown time.Duration
	hpaName  string
	// triggers are in the order of the spec: KEDA puts their index into the names
	// of the HPA's metrics.
	triggers []trigger
	// paused says in words which annotation has stopped KEDA; empty if none has.
	paused string
}

// target is what a ScaledObject or an HPA scales.
type target struct {
	schema.GroupKind
	name string
}

// String is group/Kind/name, as apps/Deployment/worker.
func (t target) String() string {
	group := t.Group
	if group == "" {
		group = "core"
	}
	return group + "/" + t.Kind + "/" + t.name
}

// trigger is what is used of one trigger.
type trigger struct {
	// external: it is served by an external scaler, maybe by us.
	external bool
	// value: its metricType is Value.
	value bool
	// ofPods: it is of what pods use, which wakes nothing. shared: it follows a
	// StabilizedMetric, and what that is of is not known here.
	ofPods, shared bool
}

// manifest is the part of a ScaledObject's JSON that is read.
type manifest struct {
	Spec struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		CooldownPeriod   *int32 `json:"cooldownPeriod"`
		IdleReplicaCount *int32 `json:"idleReplicaCount"`
		MinReplicaCount  *int32 `json:"minReplicaCount"`
		MaxReplicaCount  *int32 `json:"maxReplicaCount"`
		Advanced         struct {
			HorizontalPodAutoscalerConfig struct {
				Name string `json:"name"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type       string          `json:"type"`
			MetricType string          `json:"metricType"`
			Metadata   triggerManifest `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// triggerManifest is what of a trigger's metadata says which trigger of ours it is.
type triggerManifest struct {
	Source        string `json:"source"`
	SourceFromEnv string `json:"sourceFromEnv"`
	Metric        string `json:"metric"`
	MetricFromEnv string `json:"metricFromEnv"`
}

// newScaledObject reads a ScaledObject. One that cannot be read is kept with its
// problem: failing here would stop the informer for all of them.
func newScaledObject(u *unstructured.Unstructured) *scaledObject {
	so := &scaledObject{ObjectMeta: identity(u)}
	var m manifest
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
		so.problem = fmt.Errorf("read ScaledObject %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		return so
	}
	spec := m.Spec
	scaled, err := newTarget(spec.ScaleTargetRef.APIVersion, spec.ScaleTargetRef.Kind, spec.ScaleTargetRef.Name)
	if err != nil {
		so.problem = fmt.Errorf("read ScaledObject %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		return so
	}
	so.target = scaled
	minimum := valueOr(spec.MinReplicaCount, 0)
	so.bounds = algorithm.Bounds{Min: max(1, minimum), Max: valueOr(spec.MaxReplicaCount, defaultMaxReplicas)}
	so.toZero = minimum == 0 || spec.IdleReplicaCount != nil
	so.cooldown = defaultCooldown
	if spec.CooldownPeriod != nil {
		so.cooldown = time.Duration(*spec.CooldownPeriod) * time.Second
	}
	so.hpaName = spec.Advanced.HorizontalPodAutoscalerConfig.Name
	if so.hpaName == "" {
		so.hpaName = "keda-hpa-" + so.Name
	}
	for _, t := range spec.Triggers {
		so.triggers = append(so.triggers, newTrigger(t.Type, t.MetricType, t.Metadata))
	}
	so.paused = pausedBy(u.GetAnnotations())
	return so
}

func newTrigger(kind, metricType string, metadata triggerManifest) trigger {
	t := trigger{external: kind == "external" || kind == "external-push", value: metricType == "Value"}
	source := kind
	if t.external {
		source = strings.TrimSpace(metadata.Source)
		t.shared = strings.TrimSpace(metadata.Metric+metadata.MetricFromEnv) != ""
	}
	// What the environment of the scale target says is not known here. To take it for what
	// pods use keeps the workload awake.
	unknown := t.external && source == "" && metadata.SourceFromEnv != ""
	t.ofPods = !t.shared && (isOfPods(source) || unknown)
	return t
}

// isOfPods reports whether triggers of a type measure what pods use.
func isOfPods(triggerType string) bool { return triggerType == "cpu" || triggerType == "memory" }

func newTarget(apiVersion, kind, name string) (target, error) {
	group := "apps"
	if apiVersion != "" {
		version, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return target{}, fmt.Errorf("scaleTargetRef.apiVersion %q: %w", apiVersion, err)
		}
		group = version.Group
	}
	if kind == "" {
		kind = "Deployment"
	}
	return target{GroupKind: schema.GroupKind{Group: group, Kind: kind}, name: name}, nil
}

// pausedBy says which annotation stops KEDA. As in KEDA, paused-replicas wins and
// a paused that is no boolean counts as true.
func pausedBy(annotations map[string]string) string {
	if replicas, ok := annotations[pausedReplicasAnnotation]; ok {
		return fmt.Sprintf("KEDA is paused at %s replicas by the annotation %s", replicas, pausedReplicasAnnotation)
	}
	value, ok := annotations[pausedAnnotation]
	if !ok {
		return ""
	}
	if paused, err := strconv.ParseBool(value); err == nil && !paused {
		return ""
	}
	return "KEDA is paused by the annotation " + pausedAnnotation
}

// servesValue reports whether the trigger of a metric has metricType Value. index
// is the trigger's, as the HPA names it; negative if the HPA does not ask for the
// metric. Then, or where the triggers have been reordered since, an only external
// trigger is the one.
func (so *scaledObject) servesValue(index int) bool {
	if index >= 0 && index < len(so.triggers) && so.triggers[index].external {
		return so.triggers[index].value
	}
	external, value := 0, false
	for _, t := range so.triggers {
		if t.external {
			external++
			value = t.value
		}
	}
	return external == 1 && value
}

// otherWakes reports whether a trigger of another kind than what pods use may wake the
// workload; asking is the index of the one that asks, as servesValue gets it. One
// that follows a StabilizedMetric counts only for a trigger that does not: what asks
// might itself be the only one, and nothing would ever wake the workload.
func (so *scaledObject) otherWakes(asking int) bool {
	countsShared := asking >= 0 && asking < len(so.triggers) && so.triggers[asking].ofPods
	return slices.ContainsFunc(so.triggers, func(t trigger) bool {
		return !t.ofPods && (!t.shared || countsShared)
	})
}

// scaledJob is what is used of a ScaledJob: that there is one.
type scaledJob struct{ metav1.ObjectMeta }

func newScaledJob(u *unstructured.Unstructured) *scaledJob { return &scaledJob{identity(u)} }

// identity is the metadata that stores and events need.
func identity(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}

func valueOr(p *int32, otherwise int32) int32 {
	if p == nil {
		return otherwise
	}
	return *p
}
