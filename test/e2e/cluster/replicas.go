package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// Replicas are processes of one program that listen on 127.0.0.2, 127.0.0.3 and
// so on, all on the same two ports, as the pods of a Deployment do. One port is
// for those they serve, the other for plain HTTP: probes, metrics and /v1.
// The addresses need Linux, where all of 127.0.0.0/8 is loopback.
type Replicas struct {
	daemons  []*daemon
	port     int
	httpPort int
	// publish tells whoever finds the replicas which of them are up.
	publish func([]netip.AddrPort)
}

// allowLoopback lets triggers lead to the servers of tests, all of which are there.
const allowLoopback = "--allow-address=127.0.0.0/8"

// startReplicas runs n replicas of a program until the cluster stops, and returns
// when all listen. args gives the command line of replica i, which has to serve on
// the two addresses, and to know the flag that allows triggers to lead to loopback.
func (c *Cluster) startReplicas(ctx context.Context, name, program string, n int, publish func([]netip.AddrPort),
	args func(i int, addr, httpAddr string) []string) (*Replicas, error) {
	r := &Replicas{publish: publish}
	for _, port := range []*int{&r.port, &r.httpPort} {
		var err error
		if *port, err = child.FreePort(); err != nil {
			return nil, err
		}
	}
	for i := range n {
		line := append(args(i, r.addr(i), r.HTTPAddr(i)), allowLoopback)
		daemon, err := c.launch(fmt.Sprintf("%s-%d-%d", name, r.port, i), program, line)
		if err != nil {
			r.kill()
			return nil, err
		}
		r.daemons = append(r.daemons, daemon)
	}
	for i := range n {
		if err := r.await(ctx, i); err != nil {
			r.kill()
			return nil, err
		}
	}
	return r, nil
}

// Count is the number of replicas, running or not.
func (r *Replicas) Count() int { return len(r.daemons) }

// HTTPAddr is where replica i serves probes, metrics and /v1.
func (r *Replicas) HTTPAddr(i int) string { return replicaAddr(i, r.httpPort).String() }

// PID is the process id of replica i.
func (r *Replicas) PID(i int) int { return r.daemons[i].pid() }

// LogName is the name of replica i for [Cluster.Logs].
func (r *Replicas) LogName(i int) string { return r.daemons[i].name }

// Kill ends replica i as a crash of its node would: SIGKILL.
func (r *Replicas) Kill(i int) {
	r.daemons[i].kill()
	r.publishRunning()
}

// Term ends replica i as Kubernetes ends a pod: its address is withdrawn, then
// SIGTERM. It returns when the process is gone.
func (r *Replicas) Term(i int) {
	r.publish(r.addrs(func(j int) bool { return j != i && r.daemons[j].alive() }))
	r.daemons[i].stop()
}

// Suspend stops replica i without closing its connections (SIGSTOP).
func (r *Replicas) Suspend(i int) error { return r.daemons[i].suspend() }

// Resume lets a suspended replica go on.
func (r *Replicas) Resume(i int) error { return r.daemons[i].resume() }

// Restart starts replica i again on the same addresses, after killing it when
// it still runs.
func (r *Replicas) Restart(ctx context.Context, i int) error {
	r.Kill(i)
	if err := r.daemons[i].start(); err != nil {
		return err
	}
	return r.await(ctx, i)
}

func (r *Replicas) kill() {
	for _, daemon := range r.daemons {
		daemon.kill()
	}
}

// await waits until replica i serves, and publishes its address then.
func (r *Replicas) await(ctx context.Context, i int) error {
	for _, addr := range []string{r.addr(i), r.HTTPAddr(i)} {
		if err := r.daemons[i].await(ctx, accepts(addr)); err != nil {
			return err
		}
	}
	r.publishRunning()
	return nil
}

func (r *Replicas) publishRunning() {
	r.publish(r.addrs(func(i int) bool { return r.daemons[i].alive() }))
}

func (r *Replicas) addr(i int) string { return replicaAddr(i, r.port).String() }

func (r *Replicas) addrs(include func(i int) bool) []netip.AddrPort {
	var addrs []netip.AddrPort
	for i := range r.daemons {
		if include(i) {
			addrs = append(addrs, replicaAddr(i, r.port))
		}
	}
	return addrs
}

func replicaAddr(i, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 2)}), uint16(port))
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
