//go:build e2e

package coexistence_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// delegateTimeout is that of a delegate without another.
	delegateTimeout = time.Second
	// askers is how many ask for each metric at once.
	askers   = 8
	loadTime = 4 * time.Second
)

// answers are those to requests for one metric.
type answers struct {
	answered, failed int
	p50, p99         time.Duration
}

func (a answers) String() string {
	return fmt.Sprintf("%d answered, %d failed, p50 %.1f ms, p99 %.1f ms", a.answered, a.failed, a.p50.Seconds()*1e3, a.p99.Seconds()*1e3)
}

// measured is what a load on two metrics at once has come to.
type measured struct {
	own, other answers
	// reasons are an error of each metric that had one.
	reasons map[string]string
}

// measure asks the first adapter for two metrics, NAMESPACE/NAME, as fast as the answers
// come.
func measure(t *testing.T, own, other string) measured {
	t.Helper()
	m := measured{reasons: map[string]string{}}
	var group sync.WaitGroup
	var mu sync.Mutex
	for metric, result := range map[string]*answers{own: &m.own, other: &m.other} {
		group.Go(func() {
			asked, reason := ask(t.Context(), metric)
			mu.Lock()
			defer mu.Unlock()
			*result = asked
			if reason != "" {
				m.reasons[metric] = reason
			}
		})
	}
	group.Wait()
	return m
}

func ask(ctx context.Context, metric string) (a answers, reason string) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	began := time.Now()
	for range askers {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
		group.Go(func() {
			defer client.CloseIdleConnections()
			for time.Since(began) < loadTime && ctx.Err() == nil {
				start := time.Now()
				err := askOnce(ctx, client, metric)
				mu.Lock()
				took = append(took, time.Since(start))
				if err == nil {
					a.answered++
				} else {
					a.failed++
					reason = err.Error()
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	a.p50, a.p99 = took[len(took)/2], took[len(took)*99/100]
	return a, reason
}

func askOnce(ctx context.Context, client *http.Client, metric string) error {
	namespace, name, _ := strings.Cut(metric, "/")
	url := "https://" + env.adapters.HTTPSAddr(0) + "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + namespace + "/" + name
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+env.token)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return err
}
