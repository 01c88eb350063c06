// Package scenario has what tests on a cluster have in common: a Deployment whose
// count is watched, and a Redis with the queue that it is scaled by.
package scenario

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// Together runs scenarios side by side: they mostly wait.
func Together(t *testing.T, scenarios map[string]func(*testing.T)) {
	t.Helper()
	t.Run("scenarios", func(t *testing.T) {
		for name, scenario := range scenarios {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				scenario(t)
			})
		}
	})
}

// Worker is the name of the Deployment.
const Worker = "worker"

// Workload is a Deployment called Worker in a namespace of its own, and a Redis
// with its queue. All methods fail the test rather than return an error.
type Workload struct {
	T         *testing.T
	Cluster   *cluster.Cluster
	Namespace string
	Redis     *redistest.Server
	// Explain says for the log of a failed test why the count is what it is.
	Explain func() string

	client *redis.Client
}

// New makes a Deployment with a number of replicas and an empty queue.
func New(t *testing.T, c *cluster.Cluster, replicas int32) *Workload {
	t.Helper()
	namespace, err := c.CreateNamespace(t.Context(), "scenario")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDeployment(t.Context(), namespace, Worker, replicas); err != nil {
		t.Fatal(err)
	}
	w := &Workload{T: t, Cluster: c, Namespace: namespace, Redis: redistest.Start(t), Explain: func() string { return "" }}
	w.client = redis.NewClient(&redis.Options{Addr: w.Redis.Addr()})
	t.Cleanup(func() { _ = w.client.Close() })
	return w
}

// Queue makes a list exactly n long.
func (w *Workload) Queue(list string, n int) {
	w.T.Helper()
	jobs := make([]any, n)
	for i := range jobs {
		jobs[i] = "job-" + strconv.Itoa(i)
	}
	_, err := w.client.TxPipelined(w.T.Context(), func(p redis.Pipeliner) error {
		p.Del(w.T.Context(), list)
		if n > 0 {
			p.RPush(w.T.Context(), list, jobs...)
		}
		return nil
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// Scale sets the Deployment's replicas, as a person would.
func (w *Workload) Scale(n int32) {
	w.T.Helper()
	if err := w.Cluster.SetReplicas(w.T.Context(), w.Namespace, Worker, n); err != nil {
		w.T.Fatal(err)
	}
}

// Await waits until the Deployment has n replicas.
func (w *Workload) Await(n int32, limit time.Duration) time.Time {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), limit)
	defer cancel()
	at, err := w.Cluster.WaitReplicas(ctx, w.Namespace, Worker, n)
	if err != nil {
		w.T.Fatalf("%v\n%s", err, w.Explain())
	}
	return at
}

// Record starts to write down the replica counts.
func (w *Workload) Record() *cluster.Recorder {
	w.T.Helper()
	r, err := w.Cluster.Record(w.T.Context(), w.Namespace, Worker)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _, _ = r.Stop() })
	return r
}

// Expect checks that the recorded counts are the wanted ones, in order. The recorder
// may be some milliseconds behind what the test has seen otherwise.
func (w *Workload) Expect(r *cluster.Recorder, want ...int32) cluster.History {
	w.T.Helper()
	history := r.History()
	for tries := 0; tries < 20 && len(history) < len(want); tries++ {
		time.Sleep(100 * time.Millisecond)
		history = r.History()
	}
	w.T.Logf("replicas: %s", history)
	if !slices.Equal(history.Replicas(), want) {
		w.T.Errorf("replicas went %s, want %v\n%s", history, want, w.Explain())
	}
	return history
}

// Steady waits, and checks then that the recorded counts are the wanted ones.
func (w *Workload) Steady(r *cluster.Recorder, d time.Duration, want ...int32) {
	w.T.Helper()
	select {
	case <-w.T.Context().Done():
	case <-time.After(d):
	}
	w.Expect(r, want...)
}

// Get returns the body of a URL's answer. An answer with a status of 400 or more
// is an error too.
func Get(ctx context.Context, url string) (string, error) { return call(ctx, http.MethodGet, url) }

// Post is Get with POST.
func Post(ctx context.Context, url string) (string, error) { return call(ctx, http.MethodPost, url) }

func call(ctx context.Context, method, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", method, url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return string(body), err
}
