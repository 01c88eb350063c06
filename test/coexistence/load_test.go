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
	// askers is how many ask for each metric at once, each of them again after a pause,
	// so that those who are refused at once ask no more often than others.
	askers   = 8
	pause    = 25 * time.Millisecond
	loadTime = 2 * time.Second
	// slow is half the timeout of a delegate without another: who takes longer has waited
	// for one, or for the machine.
	slow = 500 * time.Millisecond
)

// answers are those to requests for one metric.
type answers struct {
	answered, failed, slow int
	p50, p99               time.Duration
	// reason is one of the errors.
	reason string
}

func (a answers) String() string {
	return fmt.Sprintf("%d answered, %d failed, %d slow, p50 %.1f ms, p99 %.1f ms", a.answered, a.failed, a.slow, a.p50.Seconds()*1e3, a.p99.Seconds()*1e3)
}

// load is requests to the first adapter: for a metric of its own, for one of KEDA's, and,
// as the control, to its probe, which nothing but the machine can make wait.
type load struct{ own, behindKEDA, control asked }

// asked is a URL and those who ask for it, over connections that they keep.
type asked struct {
	url     string
	clients [askers]*http.Client
}

// newLoad is a load on two metrics, NAMESPACE/NAME.
func newLoad(t *testing.T, own, behindKEDA string) *load {
	t.Helper()
	newAsked := func(url string) asked {
		a := asked{url: url}
		for i := range a.clients {
			a.clients[i] = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
			t.Cleanup(a.clients[i].CloseIdleConnections)
		}
		return a
	}
	metric := func(of string) asked {
		namespace, name, _ := strings.Cut(of, "/")
		return newAsked("https://" + env.adapters.HTTPSAddr(0) + "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + namespace + "/" + name)
	}
	l := &load{metric(own), metric(behindKEDA), newAsked("http://" + env.adapters.HTTPAddr(0) + "/healthz")}
	l.measure(t) // connects them
	return l
}

// measured is what a load has come to.
type measured struct{ own, behindKEDA, control answers }

// measure asks for some seconds.
func (l *load) measure(t *testing.T) (m measured) {
	t.Helper()
	var group sync.WaitGroup
	group.Go(func() { m.own = l.own.ask(t.Context()) })
	group.Go(func() { m.behindKEDA = l.behindKEDA.ask(t.Context()) })
	group.Go(func() { m.control = l.control.ask(t.Context()) })
	group.Wait()
	return m
}

// awaitKEDA waits until KEDA's adapter is asked again, which is left alone for a while
// after it has failed.
func (l *load) awaitKEDA(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		err := askOnce(t.Context(), l.behindKEDA.clients[0], l.behindKEDA.url)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// round is a load while all is well, and while KEDA's adapter fails.
type round struct{ calm, during measured }

func (r round) String() string {
	return fmt.Sprintf("own %v (all well: %v); control %v (all well: %v); KEDA's %v, such as %.200s",
		r.during.own, r.calm.own, r.during.control, r.calm.control, r.during.behindKEDA, r.during.behindKEDA.reason)
}

// moved reports whether own requests waited for KEDA's adapter. If it hangs, those who do
// take its whole timeout, and so do all askers at least once: eight of some hundred are
// more than one in a hundred. If it answers at once, what they do shows in the median.
func (r round) moved() bool {
	if r.during.own.slow > r.calm.own.slow+r.during.control.slow+askers/2 {
		return true
	}
	machine := max(1, r.during.control.p50.Seconds()/r.calm.control.p50.Seconds())
	return r.during.own.p50.Seconds() > 5*machine*r.calm.own.p50.Seconds()
}

// checkRounds checks that own metrics are answered as if nothing was, and KEDA's by an error
// that says whose it is. A machine that has something else to do can make any one round
// look as if they waited; if they do, they do in each.
func checkRounds(t *testing.T, fault string, rounds []round) {
	t.Helper()
	moved := 0
	for _, r := range rounds {
		if r.calm.own.failed+r.calm.behindKEDA.failed > 0 {
			t.Errorf("before %s: requests fail although all is well: %s%s", fault, r.calm.own.reason, r.calm.behindKEDA.reason)
		}
		// One answer to each asker may come from a process that is just being stopped.
		if r.during.own.failed > 0 || r.during.behindKEDA.answered > askers {
			t.Errorf("%s: want all own requests answered and none of KEDA's: %s", fault, r)
		}
		if !strings.Contains(r.during.behindKEDA.reason, "keda") {
			t.Errorf("%s: the error does not say whose it is: %s", fault, r.during.behindKEDA.reason)
		}
		if r.moved() {
			moved++
		}
	}
	if moved == len(rounds) {
		t.Errorf("%s: requests for own metrics wait for the delegate in each of %d rounds", fault, moved)
	}
}

func (q asked) ask(ctx context.Context) (a answers) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	began := time.Now()
	for _, client := range q.clients {
		group.Go(func() {
			for time.Since(began) < loadTime && ctx.Err() == nil {
				start := time.Now()
				err := askOnce(ctx, client, q.url)
				mu.Lock()
				took = append(took, time.Since(start))
				if err == nil {
					a.answered++
				} else {
					a.failed++
					a.reason = err.Error()
				}
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	group.Wait()
	for _, d := range took {
		if d > slow {
			a.slow++
		}
	}
	slices.Sort(took)
	a.p50, a.p99 = took[len(took)/2], took[len(took)*99/100]
	return a
}

func askOnce(ctx context.Context, client *http.Client, url string) error {
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
