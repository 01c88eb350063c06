//go:build e2e

package throughput_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// adapter is one of the two that are compared.
type adapter struct {
	name string
	// direct is its own address, aggregated the API server's, both as https://HOST:PORT.
	direct, aggregated string
	group              string
	// namespace is that of metric i.
	namespace func(i int) string
	// processes are those that answer, without the Redis and the API server.
	processes []int
	// metric is what HPAs ask of it for a metric, with the query.
	metric func(name string) string
}

func (a *adapter) url(server string, i int) string {
	return server + "/apis/" + a.group + "/v1beta1/namespaces/" + a.namespace(i) + "/" + a.metric(name(i))
}

// client is one connection with a bearer token.
type client struct {
	http  *http.Client
	token string
}

func newClient(token string) *client {
	return &client{token: token, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true, // as the HPA controller and the API server do
	}}}
}

// ask wants the right answer: one item, as long as the queue.
func (c *client) ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.300s", response.Status, body)
	}
	// To look closer would take this process as long as the server takes to answer.
	if text := string(body); strings.Count(text, `"metricName"`) != 1 || !strings.Contains(text, fmt.Sprintf(`"value":"%d"`, queue)) {
		return fmt.Errorf("%s, want one item of %d", body, queue)
	}
	return nil
}

// load is what one turn asks for.
type load struct {
	// url is that of request n of all.
	url     func(n int) string
	clients []*client
	lasts   time.Duration
}

// result is what one turn took.
type result struct {
	took   []time.Duration
	lasted time.Duration
	// cpu is what the adapter's processes used.
	cpu    time.Duration
	errors []error
}

// run asks as fast as the answers come, each client one request at a time.
func (l load) run(ctx context.Context) result {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		mu    sync.Mutex
		all   result
	)
	began := time.Now()
	for _, c := range l.clients {
		group.Go(func() {
			var mine result
			for time.Since(began) < l.lasts && ctx.Err() == nil {
				start := time.Now()
				if err := c.ask(ctx, l.url(int(next.Add(1)))); err != nil {
					mine.errors = append(mine.errors, err)
				}
				mine.took = append(mine.took, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all.took, all.errors = append(all.took, mine.took...), append(all.errors, mine.errors...)
		})
	}
	group.Wait()
	all.lasted = time.Since(began)
	return all
}

func (r result) add(other result) result {
	return result{append(r.took, other.took...), r.lasted + other.lasted, r.cpu + other.cpu, append(r.errors, other.errors...)}
}

// figures are the rate per second, the latencies that half of the requests, and 99 of
// 100, stay below, and the processor's time for each. The last is the one that a loaded
// machine, and who asks on the same machine, change least.
type figures struct {
	rate          float64
	p50, p99, cpu time.Duration
}

func (r result) figures() figures {
	took := slices.Sorted(slices.Values(r.took))
	n := len(took)
	return figures{float64(n) / r.lasted.Seconds(), took[n/2], took[n*99/100], r.cpu / time.Duration(n)}
}

func (f figures) String() string {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return fmt.Sprintf("%6.0f/s  p50 %7.2f ms  p99 %7.2f ms  CPU %5.2f ms", f.rate, ms(f.p50), ms(f.p99), ms(f.cpu))
}
