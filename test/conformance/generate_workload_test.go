package conformance

import (
	"fmt"
	"maps"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
)

// scale draws counts, most often those of the pods.
func (g generator) scale(pods int32) algorithm.Scale {
	count := func() int32 {
		return pick(g.Rand, pods, pods, pods, max(pods-1, 0), pods+1, g.Int32N(20), g.Int32N(20), 0, g.Int32N(400))
	}
	s := algorithm.Scale{Spec: count()}
	s.Status = s.Spec
	if g.oneIn(3) {
		s.Status = count()
	}
	return s
}

// workload draws pods and a moment.
func (g generator) workload(warmup algorithm.Warmup) algorithm.Workload {
	w := algorithm.Workload{Now: pick(g.Rand, 0, time.Hour, time.Hour+1, g.seconds(86400))}
	w.Pods = make([]algorithm.Pod, pick(g.Rand, 1, 1, 2, 2, 3, 4, g.IntN(10), g.IntN(10), g.IntN(30)))
	healthy, requesting, containers := g.oneIn(3), !g.oneIn(6), g.containers()
	for i := range w.Pods {
		p := &w.Pods[i]
		p.Name = fmt.Sprintf("pod-%d", i)
		if !requesting && g.oneIn(4) {
			containers = g.containers()
		}
		g.requests(p, containers, requesting)
		if healthy {
			*p = g.healthy(*p, w.Now, warmup)
		} else {
			*p = g.anyHow(*p, w.Now, warmup)
		}
	}
	return w
}

// healthy is a pod that runs, has been ready for long and is not going.
func (g generator) healthy(p algorithm.Pod, now time.Duration, warmup algorithm.Warmup) algorithm.Pod {
	p.Phase, p.Ready = algorithm.Running, algorithm.True
	p.HasStarted, p.Started = true, now-warmup.CPUInitialization-g.seconds(3600)
	p.ReadySince = p.Started + g.seconds(60)
	return p
}

// anyHow is a pod in any state, whose times lie where the rules for young pods change.
func (g generator) anyHow(p algorithm.Pod, now time.Duration, warmup algorithm.Warmup) algorithm.Pod {
	p.Phase = pick(g.Rand, algorithm.Running, algorithm.Running, algorithm.Running, algorithm.Running, algorithm.Running,
		algorithm.Running, algorithm.Pending, algorithm.Succeeded, algorithm.Failed, algorithm.Unknown)
	p.Deleting = g.oneIn(12)
	p.Ready = pick(g.Rand, algorithm.True, algorithm.True, algorithm.True, algorithm.True, algorithm.False, algorithm.False, algorithm.Uncertain, "")
	p.HasStarted = !g.oneIn(20)
	initialised := now - warmup.CPUInitialization
	p.Started = pick(g.Rand, initialised, g.beside(initialised), now, now-g.seconds(600), initialised-g.seconds(600), g.beside(now))
	everReady := p.Started + warmup.InitialReadiness
	p.ReadySince = pick(g.Rand, everReady, g.beside(everReady), p.Started, now, p.Started+g.seconds(120), now-g.seconds(120))
	return p
}

// containers names those of a pod; hardly ever there are none.
func (g generator) containers() []string {
	return []string{"app", "proxy", "sidecar"}[:pick(g.Rand, 1, 1, 2, 3, 3, 3, 3, min(g.IntN(20), 3))]
}

// requests gives a pod its containers. One that is not requesting may lack any request.
func (g generator) requests(p *algorithm.Pod, names []string, requesting bool) {
	sums := map[string]algorithm.Milli{}
	p.Containers = make([]algorithm.Container, len(names))
	for i, name := range names {
		requests := map[string]algorithm.Milli{}
		for _, resource := range []string{algorithm.CPU, "memory"} {
			if requesting || !g.oneIn(8) {
				requests[resource] = g.request(resource, requesting)
				sums[resource] += requests[resource]
			}
		}
		p.Containers[i] = algorithm.Container{Name: name, Requests: requests}
	}
	if g.oneIn(8) {
		g.podRequests(p, sums)
	}
}

// mebibyte is one in thousandths of a byte.
const mebibyte algorithm.Milli = 1024 * 1024 * 1000

func (g generator) request(resource string, requesting bool) algorithm.Milli {
	switch {
	case !requesting && g.oneIn(4):
		return 0
	case resource == algorithm.CPU:
		return algorithm.Milli(pick(g.Rand, 10, 100, 100, 250, 1000, 1+g.Int64N(4000)))
	}
	return algorithm.Milli(pick(g.Rand, 1, 64, 128, 1+g.Int64N(4096))) * mebibyte
}

// podRequests sets some at pod level; what that does not name is the containers' sum.
func (g generator) podRequests(p *algorithm.Pod, sums map[string]algorithm.Milli) {
	p.Requests = maps.Clone(sums)
	for _, resource := range pick(g.Rand, []string{algorithm.CPU}, []string{"memory"}, []string{algorithm.CPU, "memory"}) {
		p.Requests[resource] = sums[resource] + g.request(resource, true)
	}
}
