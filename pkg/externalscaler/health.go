package externalscaler

import (
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// The services of grpc.health.v1. The empty name, which probes ask for by default,
// means the same as readiness.
const (
	livenessService  = "liveness"
	readinessService = "readiness"
	overallService   = ""
)

// Health is what a server answers to grpc.health.v1 probes. It is safe for
// concurrent use.
type Health struct{ server *health.Server }

// NewHealth returns the health of a process that is alive and not ready yet.
func NewHealth() *Health {
	h := &Health{server: health.NewServer()}
	h.SetAlive(true)
	h.SetReady(false)
	return h
}

// SetAlive says whether the process works. Nothing that a restart cannot mend may
// make it false: a restart would only lose what is remembered.
func (h *Health) SetAlive(alive bool) {
	h.server.SetServingStatus(livenessService, servingStatus(alive))
}

// SetReady says whether the process can answer.
func (h *Health) SetReady(ready bool) {
	h.server.SetServingStatus(readinessService, servingStatus(ready))
	h.server.SetServingStatus(overallService, servingStatus(ready))
}

func servingStatus(good bool) healthpb.HealthCheckResponse_ServingStatus {
	if good {
		return healthpb.HealthCheckResponse_SERVING
	}
	return healthpb.HealthCheckResponse_NOT_SERVING
}
