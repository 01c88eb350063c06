package cluster

import (
	"context"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// KEDA's defaults for a ScaledObject that does not say otherwise.
const (
	defaultMaxReplicas = 100
	defaultCooldown    = 300 * time.Second
)

// OpenLoop observes nothing: it is the scaling.Observer of a process that has no
// cluster to look at. Counts are then taken to be reached as soon as they are
// served.
type OpenLoop struct{}

var _ scaling.Observer = OpenLoop{}

// Observe returns KEDA's defaults: 1 to 100 replicas, and zero when idle. It never
// fails.
func (OpenLoop) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	return scaling.Observation{
		OpenLoop: true,
		ToZero:   true,
		Bounds:   algorithm.Bounds{Min: 1, Max: defaultMaxReplicas},
	}, nil
}
