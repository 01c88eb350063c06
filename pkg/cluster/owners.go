package cluster

import (
	"cmp"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// byTarget is the index of all HPAs by namespace/group/Kind/name of what they scale.
const byTarget = "target"

// maxOwners is how many of those that scale one target are named. The names of five, each
// with that of what made it, are at most 3 KiB, and fit into an Event.
const maxOwners = 5

// claimOf is what is kept of every HPA, whoever it asks: what it scales. Two that scale
// the same are in each other's way, whatever their metrics.
func claimOf(h *autoscalingv2.HorizontalPodAutoscaler) hpa {
	claim := hpa{ObjectMeta: identity(h)}
	if maker := metav1.GetControllerOfNoCopy(h); maker != nil {
		claim.maker = maker.Kind + " " + maker.Name
	}
	scaled := h.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(scaled.APIVersion)
	if err != nil {
		claim.problem = fmt.Errorf("read %s %s/%s: scaleTargetRef.apiVersion %q: %w", kindHPA, h.Namespace, h.Name, scaled.APIVersion, err)
	}
	claim.target = target{GroupKind: schema.GroupKind{Group: version.Group, Kind: scaled.Kind}, name: scaled.Name}
	return claim
}

// claimed is the HPA itself. What embeds one has it too.
func (h *hpa) claimed() *hpa { return h }

// claimant is an *hpa or a *nativeHPA.
type claimant interface{ claimed() *hpa }

// targetsOf is the key of an HPA in the index byTarget; none of one that nobody can read,
// which scales nothing.
func targetsOf(obj any) ([]string, error) {
	if c, ok := obj.(claimant); ok && c.claimed().problem == nil {
		h := c.claimed()
		return []string{targetKey(h.Namespace, h.target)}, nil
	}
	return nil, nil
}

func targetKey(namespace string, t target) string { return namespace + "/" + t.String() }

// ownersOf finds the HPAs that scale a target, if they are several. One that is being
// deleted is among them: its controller counts it until it is gone.
func (o *Observer) ownersOf(namespace string, t target) (scaling.Owners, error) {
	found, err := o.hpas.informer.GetIndexer().ByIndex(byTarget, targetKey(namespace, t))
	if err != nil {
		return scaling.Owners{}, fmt.Errorf("find what scales %s in %s: %w", t, namespace, err)
	}
	if len(found) < 2 {
		return scaling.Owners{}, nil
	}
	claims := make([]*hpa, 0, len(found))
	for _, obj := range found {
		if c, ok := obj.(claimant); ok {
			claims = append(claims, c.claimed())
		}
	}
	slices.SortFunc(claims, func(a, b *hpa) int { return cmp.Compare(a.Name, b.Name) })
	var owners scaling.Owners
	for _, h := range claims[:min(len(claims), maxOwners)] {
		owners.Names = append(owners.Names, h.inWords())
	}
	owners.More = len(claims) - len(owners.Names)
	return owners, nil
}

// inWords names the HPA, and what made it, if something did: keda-hpa-worker
// (ScaledObject worker).
func (h *hpa) inWords() string {
	if h.maker == "" {
		return h.Name
	}
	return h.Name + " (" + h.maker + ")"
}
