package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// Scalers are replicas of a scaler: processes that listen on 127.0.0.2,
// 127.0.0.3 and so on, on the same two ports, as pods of one Deployment do.
// The addresses need Linux, where all of 127.0.0.0/8 is loopback.
type Scalers struct {
	replicas []*daemon
	names    *nameServer
	grpcPort int
	httpPort int
}

// StartScalers runs n replicas of a program until the cluster stops. args
// gives the command line of replica i, which has to serve gRPC and HTTP on the
// two addresses; StartScalers returns when all do.
func (c *Cluster) StartScalers(ctx context.Context, program string, n int,
	args func(i int, grpcAddr, httpAddr string) []string) (*Scalers, error) {
	s := &Scalers{}
	var err error
	if s.grpcPort, err = child.FreePort(); err != nil {
		return nil, err
	}
	if s.httpPort, err = child.FreePort(); err != nil {
		return nil, err
	}
	if s.names, err = startNameServer(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.atStop = append(c.atStop, s.names.stop)
	c.mu.Unlock()
	for i := range n {
		name := fmt.Sprintf("scaler-%d-%d", s.grpcPort, i)
		replica, err := c.launch(name, program, args(i, s.GRPCAddr(i), s.HTTPAddr(i)))
		if err != nil {
			s.Stop()
			return nil, err
		}
		s.replicas = append(s.replicas, replica)
	}
	for i := range n {
		if err := s.await(ctx, i); err != nil {
			s.Stop()
			return nil, err
		}
	}
	return s, nil
}

// Target is the scalerAddress for a ScaledObject. KEDA passes it to gRPC as it
// is, which resolves the name to all replicas that are up and spreads its
// calls over them.
func (s *Scalers) Target() string {
	return fmt.Sprintf("dns://%s/%s:%d", s.names.addr(), scalerName, s.grpcPort)
}

// Count is the number of replicas, running or not.
func (s *Scalers) Count() int { return len(s.replicas) }

// GRPCAddr is where replica i serves gRPC.
func (s *Scalers) GRPCAddr(i int) string { return hostPort(i, s.grpcPort) }

// HTTPAddr is where replica i serves metrics and health.
func (s *Scalers) HTTPAddr(i int) string { return hostPort(i, s.httpPort) }

// PID is the process id of replica i.
func (s *Scalers) PID(i int) int { return s.replicas[i].pid() }

// LogName is the name of replica i for [Cluster.Logs].
func (s *Scalers) LogName(i int) string { return s.replicas[i].name }

// Kill ends replica i as a crash of its node would: SIGKILL.
func (s *Scalers) Kill(i int) {
	s.replicas[i].kill()
	s.publish()
}

// Term ends replica i as Kubernetes ends a pod: its address is withdrawn, then
// SIGTERM. It returns when the process is gone.
func (s *Scalers) Term(i int) {
	s.names.set(s.addrs(func(j int) bool { return j != i && s.replicas[j].alive() }))
	s.replicas[i].stop()
}

// Suspend stops replica i without closing its connections (SIGSTOP).
func (s *Scalers) Suspend(i int) error { return s.replicas[i].suspend() }

// Resume lets a suspended replica go on.
func (s *Scalers) Resume(i int) error { return s.replicas[i].resume() }

// Restart starts replica i again on the same addresses, after killing it when
// it still runs.
func (s *Scalers) Restart(ctx context.Context, i int) error {
	s.Kill(i)
	if err := s.replicas[i].start(); err != nil {
		return err
	}
	return s.await(ctx, i)
}

// Stop kills all replicas and ends their name.
func (s *Scalers) Stop() {
	for _, replica := range s.replicas {
		replica.kill()
	}
	s.names.stop()
}

// await waits until replica i serves, and publishes its address then.
func (s *Scalers) await(ctx context.Context, i int) error {
	for _, addr := range []string{s.GRPCAddr(i), s.HTTPAddr(i)} {
		if err := s.replicas[i].await(ctx, accepts(addr)); err != nil {
			return err
		}
	}
	s.publish()
	return nil
}

// publish makes the name resolve to the replicas that run, as a headless
// Service does.
func (s *Scalers) publish() {
	s.names.set(s.addrs(func(i int) bool { return s.replicas[i].alive() }))
}

func (s *Scalers) addrs(include func(i int) bool) []netip.Addr {
	var addrs []netip.Addr
	for i := range s.replicas {
		if include(i) {
			addrs = append(addrs, replicaAddr(i))
		}
	}
	return addrs
}

func replicaAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 2)}) }

func hostPort(i, port int) string {
	return net.JoinHostPort(replicaAddr(i).String(), strconv.Itoa(port))
}

// accepts is a check for daemon.await: something listens on the address.
func accepts(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("not listening: %w", err)
		}
		return conn.Close()
	}
}
