package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// herd is policies that come and go, in the order of their numbers: alive are those from
// oldest to before next. Policy 0 is apart and stays.
type herd struct {
	lab      *lab
	redis    *database
	objects  []*pb.ScaledObjectRef
	replicas [soakReplicas]*program

	second       int // of the load
	oldest, next int
	streams      map[int]*stream
	broken       chan error // of the replica that stays
	restarts     int

	mu    sync.Mutex
	calls int
	// unread got no reading in time from the replica that stays, cut no answer of another.
	unread, cut int
	failed      []error
}

// startHerd starts the replicas and no policy yet, for a load of some time.
func (l *lab) startHerd(ctx context.Context, lasts time.Duration) (*herd, error) {
	r, err := startRedis(ctx)
	if err != nil {
		return nil, err
	}
	all := int(soakPolicies*lasts/soakLife) + 2
	h := &herd{
		lab: l, redis: r, objects: objectsOf(all, r.Addr()),
		oldest: 1, next: 1, streams: map[int]*stream{}, broken: make(chan error, 1),
	}
	for i := range h.replicas {
		if h.replicas[i], err = h.replica(ctx); err != nil {
			h.stop()
			return nil, err
		}
	}
	return h, nil
}

func (h *herd) replica(ctx context.Context) (*program, error) {
	return h.lab.startScaler(ctx, h.redis.URL(), "--forget-after="+soakForget.String())
}

func (h *herd) stop() {
	for _, p := range h.replicas {
		if p != nil {
			p.stop()
		}
	}
	h.redis.stop()
}

// failure is what went wrong that may not.
func (h *herd) failure() error {
	select {
	case err := <-h.broken:
		return err
	default:
		return errors.Join(h.failed...)
	}
}

// keep visits the policy that stays, every second for a time.
func (h *herd) keep(ctx context.Context, lasts time.Duration) {
	eachSecond(ctx, lasts, func() { h.visit(ctx, 0, 0) })
}

// warm makes all visits of a second at once to the policy that stays, so that the process
// that stays has its connections, each with 64 KiB of buffers, before it is looked at.
func (h *herd) warm(ctx context.Context, lasts time.Duration) {
	eachSecond(ctx, lasts, func() {
		together(soakPolicies/10, doorCallers, func(int) error {
			h.visit(ctx, 0, 0)
			return nil
		})
	})
}

// eachSecond does something once a second for a time; later if it takes longer.
func eachSecond(ctx context.Context, lasts time.Duration, something func()) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range int(lasts / time.Second) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			something()
		}
	}
}

// herd goes on with the load for a time.
func (h *herd) herd(ctx context.Context, lasts time.Duration) {
	eachSecond(ctx, lasts, func() {
		h.second++
		for h.next <= int(soakPolicies*time.Duration(h.second)*time.Second/soakLife) {
			h.enter(ctx, h.next)
			h.next++
		}
		for ; h.oldest < h.next-soakPolicies; h.oldest++ {
			h.leave(ctx, h.oldest)
		}
		if h.second%int(soakRestart/time.Second) == 0 {
			h.restart(ctx)
		}
		h.round(ctx)
	})
}

// disperse has all leave.
func (h *herd) disperse(ctx context.Context) {
	for ; h.oldest < h.next; h.oldest++ {
		h.leave(ctx, h.oldest)
	}
}

func (h *herd) enter(ctx context.Context, policy int) {
	if err := h.redis.client.RPush(ctx, listOf(policy), workOf(1+policy%longest)...).Err(); err != nil {
		h.fail(err)
	}
	replica, broken := policy%soakReplicas, h.broken
	if replica > 0 {
		broken = make(chan error, 1) // it breaks when the replica is killed
	}
	h.streams[policy] = keda{h.replicas[replica].client, h.objects}.open(ctx, policy, broken)
}

func (h *herd) leave(ctx context.Context, policy int) {
	h.streams[policy].close()
	delete(h.streams, policy)
	if err := h.redis.client.Del(ctx, listOf(policy)).Err(); err != nil {
		h.fail(err)
	}
}

// restart kills one of the replicas that do not stay, and starts it again.
func (h *herd) restart(ctx context.Context) {
	i := 1 + h.restarts%(soakReplicas-1)
	h.replicas[i].stop()
	next, err := h.replica(ctx)
	if err != nil {
		h.fail(err)
		return
	}
	h.replicas[i] = next
	h.restarts++
}

// round visits a tenth of all, each at another replica than the last time.
func (h *herd) round(ctx context.Context) {
	const every = 10
	var due []int
	for policy := h.oldest; policy < h.next; policy++ {
		if policy%every == h.second%every {
			due = append(due, policy)
		}
	}
	due = append(due, 0)
	together(len(due), doorCallers, func(i int) error {
		replica := (due[i]/every + h.second/every) % soakReplicas
		if due[i] == 0 {
			replica = 0
		}
		h.visit(ctx, due[i], replica)
		return nil
	})
}

// visit makes the calls of one visit at a replica. No answer in time is no failure: a
// replica is just being restarted, or the machine too busy to read a new list.
func (h *herd) visit(ctx context.Context, policy, replica int) {
	t := &tally{}
	keda{h.replicas[replica].client, h.objects}.visit(ctx, policy, time.Now(), t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls += len(t.took)
	for _, err := range t.failed {
		code := status.Code(err)
		switch unanswered := code == codes.Unavailable || code == codes.DeadlineExceeded; {
		case unanswered && replica > 0:
			h.cut++
		case unanswered:
			h.unread++
		case len(h.failed) < longest:
			h.failed = append(h.failed, fmt.Errorf("policy %d at replica %d: %w", policy, replica, err))
		}
	}
}

func (h *herd) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, err)
}

// vitals are what a process holds on to.
type vitals struct {
	goroutines, series int
	heap, resident     mebibytes
}

func (v vitals) String() string {
	return fmt.Sprintf("%d goroutines, heap %.1f MiB (%s resident), %d policies' series", v.goroutines, float64(v.heap), v.resident, v.series)
}

// vitalsOf looks at a scaler after a collection of its garbage.
func vitalsOf(ctx context.Context, p *program) (vitals, error) {
	heap, err := p.heap(ctx)
	if err != nil {
		return vitals{}, err
	}
	v := vitals{heap: heap}
	if v.resident, err = memoryOf(p.PID(), "VmRSS"); err != nil {
		return v, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+"/metrics", http.NoBody)
	if err != nil {
		return v, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return v, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, _ := strconv.ParseFloat(value, 64) // comments have none
		switch {
		case name == "go_goroutines":
			v.goroutines = int(number)
		case strings.HasPrefix(name, "dashpot_policy_decided_replicas{"):
			v.series++
		}
	}
	if v.goroutines == 0 {
		return v, fmt.Errorf("%s shows no go_goroutines", request.URL)
	}
	return v, lines.Err()
}

// records are all that is left in a Redis.
type records struct {
	count, eternal int
	longest        time.Duration
}

// recordsOf asks every key when it expires.
func recordsOf(ctx context.Context, client *redis.Client) (records, error) {
	var r records
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		left, err := client.PTTL(ctx, keys.Val()).Result()
		if err != nil {
			return r, err
		}
		r.count++
		r.longest = max(r.longest, left)
		if left < 0 {
			r.eternal++
		}
	}
	return r, keys.Err()
}
