package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

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

// claimsAs reports whether two states of an HPA are the same to others on its target.
func (h *hpa) claimsAs(other *hpa) bool {
	return h.target == other.target && h.maker == other.maker && (h.problem == nil) == (other.problem == nil)
}

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

// crowds remembers the owners of targets that have several, until anybody comes, goes or
// turns to another target: to list a thousand takes half a millisecond, more than all else
// that a request costs. Its zero value is ready.
type crowds struct {
	mu sync.Mutex
	of map[string]scaling.Owners
	// changes counts them, so that nobody puts down what he found before the last.
	changes int
}

// arrivals is a handler that hands on which HPAs come or change, once no list is
// remembered in which they are not.
func (c *crowds) arrivals(changed func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			c.forget()
			changed(obj)
		},
		UpdateFunc: func(old, obj any) {
			before, _ := old.(claimant)
			if after, ok := obj.(claimant); !ok || before == nil || !before.claimed().claimsAs(after.claimed()) {
				c.forget()
			}
			changed(obj)
		},
		DeleteFunc: func(any) { c.forget() },
	}
}

func (c *crowds) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	clear(c.of)
}

// get returns what is remembered of a target, and the changes until now.
func (c *crowds) get(key string) (owners scaling.Owners, known bool, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners, known = c.of[key]
	return owners, known, c.changes
}

// put remembers the several owners of a target, as they were after so many changes.
func (c *crowds) put(key string, owners scaling.Owners, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changes != c.changes {
		return
	}
	if c.of == nil {
		c.of = map[string]scaling.Owners{}
	}
	c.of[key] = owners
}

// ownersOf finds the HPAs that scale a target, if they are several. One that is being
// deleted is among them: its controller counts it until it is gone.
func (o *Observer) ownersOf(namespace string, t target) (scaling.Owners, error) {
	key := targetKey(namespace, t)
	owners, known, changes := o.crowds.get(key)
	if known {
		return owners, nil
	}
	found, err := o.hpas.informer.GetIndexer().ByIndex(byTarget, key)
	if err != nil {
		return scaling.Owners{}, fmt.Errorf("find what scales %s in %s: %w", t, namespace, err)
	}
	if owners = namesOf(found); len(owners.Names) > 0 {
		o.crowds.put(key, owners, changes)
	}
	return owners, nil
}

// namesOf names those that have the same target; nobody if it is one.
func namesOf(found []any) scaling.Owners {
	if len(found) < 2 {
		return scaling.Owners{}
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
	return owners
}

// inWords names the HPA, and what made it, if something did: keda-hpa-worker
// (ScaledObject worker).
func (h *hpa) inWords() string {
	if h.maker == "" {
		return h.Name
	}
	return h.Name + " (" + h.maker + ")"
}
