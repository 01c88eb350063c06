package cluster

import (
	"context"
	"fmt"
)

// Scalers are replicas of a scaler, which KEDA finds by a name.
type Scalers struct {
	*Replicas

	names *nameServer
}

// StartScalers runs n replicas of a program until the cluster stops. args
// gives the command line of replica i, which has to serve gRPC and HTTP on the
// two addresses; StartScalers returns when all do.
func (c *Cluster) StartScalers(ctx context.Context, program string, n int,
	args func(i int, grpcAddr, httpAddr string) []string) (*Scalers, error) {
	names, err := startNameServer()
	if err != nil {
		return nil, err
	}
	c.whenStopped(names.stop)
	replicas, err := c.startReplicas(ctx, "scaler", program, n, names.setReplicas, args)
	if err != nil {
		names.stop()
		return nil, err
	}
	return &Scalers{Replicas: replicas, names: names}, nil
}

// Target is the scalerAddress for a ScaledObject. KEDA passes it to gRPC as it
// is, which resolves the name to all replicas that are up and spreads its
// calls over them.
func (s *Scalers) Target() string {
	return fmt.Sprintf("dns://%s/%s:%d", s.names.addr(), scalerName, s.port)
}

// GRPCAddr is where replica i serves gRPC.
func (s *Scalers) GRPCAddr(i int) string { return s.addr(i) }

// Stop kills all replicas and ends their name.
func (s *Scalers) Stop() {
	s.kill()
	s.names.stop()
}
