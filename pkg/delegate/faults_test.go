package delegate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// wire stands for the connections to one delegate, in the time of a test.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// hung is a delegate that never answers.
func hung(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// answering is one that always does, after some time.
func answering(after time.Duration) wire {
	return func(r *http.Request) (*http.Response, error) {
		if after > 0 { // a timer that is due at once ends the race detector
			select {
			case <-time.After(after):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(list)), Request: r}, nil
	}
}

// wired is a Set of delegates over wires: a, b and so on, which own the metrics a*, b*.
func wired(tb testing.TB, wires ...wire) *Set {
	tb.Helper()
	var configs []Config
	for i := range wires {
		name := string(rune('a' + i))
		configs = append(configs, Config{Name: name, URL: "https://" + name, Timeout: defaultTimeout, Match: Match{Metrics: []string{name + "*"}}})
	}
	set := connected(tb, nil, configs...)
	for i, w := range wires {
		set.servers[i].client = &http.Client{Transport: w}
	}
	return set
}

// 100 HPAs ask a delegate that hangs, while 100 ask another one. The latter are answered
// at once; the former wait for a second at most, and only the first of them.
func TestAHungDelegateSlowsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int64
		set := wired(t, func(r *http.Request) (*http.Response, error) {
			reached.Add(1)
			return hung(r)
		}, answering(0))
		for round := range 4 {
			var group sync.WaitGroup
			var mu sync.Mutex
			slowest := map[string]time.Duration{}
			for range 100 {
				for _, metric := range []string{"a1", "b1"} {
					group.Go(func() {
						began := time.Now()
						_, by, err := set.Get(t.Context(), "shop", metric, nil)
						if (err == nil) != (by == "b") {
							t.Errorf("by %s: %v", by, err)
						}
						mu.Lock()
						defer mu.Unlock()
						slowest[by] = max(slowest[by], time.Since(began))
					})
				}
			}
			group.Wait()
			if slowest["b"] != 0 {
				t.Errorf("round %d: the other delegate took %v", round, slowest["b"])
			}
			if slowest["a"] > time.Second {
				t.Errorf("round %d: the hung one took %v", round, slowest["a"])
			}
			time.Sleep(15 * time.Second)
		}
		// 16 at a time in the first round, those who wait for a turn give up; then one in
		// each round tries whether it is still hung.
		if got := reached.Load(); got != 16+3 {
			t.Errorf("the hung delegate was asked %d times, want 19", got)
		}
	})
}

// What the callers of a dead delegate see over time, in which they ask each second.
func TestADelegateThatIsDownIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int64
		var back atomic.Bool
		set := wired(t, func(r *http.Request) (*http.Response, error) {
			reached.Add(1)
			if back.Load() {
				return answering(0)(r)
			}
			return nil, errors.New("connection refused")
		})
		const want = "delegate a at https://a: connection refused"
		trace := ""
		for second := range 20 {
			back.Store(second >= 12)
			before := reached.Load()
			_, _, err := set.Get(t.Context(), "shop", "a1", nil)
			switch {
			case err == nil:
				trace += "!"
			case err.Error() != want || !apierrors.IsServiceUnavailable(err):
				t.Errorf("second %d: %v, want %s", second, err, want)
			case reached.Load() == before:
				trace += "-" // refused without being asked
			default:
				trace += "x"
			}
			time.Sleep(time.Second)
		}
		if want := "xxxxx----x----!!!!!!"; trace != want {
			t.Errorf("got  %s\nwant %s", trace, want)
		}
	})
}

// Who comes while one tries whether the delegate is still down is refused at once, even if
// that one has the only turn.
func TestNobodyWaitsBehindAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := wired(t, hung)
		set.servers[0].slots = make(chan struct{}, 1)
		for range breakAfter {
			_, _, _ = set.Get(t.Context(), "shop", "a1", nil)
		}
		time.Sleep(pause)
		go func() { _, _, _ = set.Get(t.Context(), "shop", "a1", nil) }()
		synctest.Wait()
		began := time.Now()
		_, _, err := set.Get(t.Context(), "shop", "a1", nil)
		if took := time.Since(began); err == nil || took != 0 {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// One metric that is slow does not shut off a delegate that answers others.
func TestOneSlowMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := wired(t, func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/a-slow") {
				return hung(r)
			}
			return answering(10 * time.Millisecond)(r)
		})
		for range 50 {
			if _, _, err := set.Get(t.Context(), "shop", "a-slow", nil); err == nil || err.Error() != "delegate a at https://a: no answer within 1s" {
				t.Errorf("slow: %v", err)
			}
			if _, _, err := set.Get(t.Context(), "shop", "a-fast", nil); err != nil {
				t.Errorf("fast: %v", err)
			}
		}
	})
}

// More than maxConcurrent wait for their turn, and a delegate that is only busy is not
// taken for one that is down.
func TestWaitingForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		set := wired(t, func(r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return answering(100 * time.Millisecond)(r)
		})
		var group sync.WaitGroup
		var served, refused atomic.Int64
		for range 200 {
			group.Go(func() {
				_, _, err := set.Get(t.Context(), "shop", "a1", nil)
				switch {
				case err == nil:
					served.Add(1)
				case err.Error() == "delegate a at https://a: 16 requests are under way, as many as maxConcurrent allows":
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		// 16 each at 0, 100, 200, 300 and 400 ms, and those who get the turn at 500 ms.
		if served.Load() < 80 || served.Load() > 96 || served.Load()+refused.Load() != 200 || most.Load() != 16 {
			t.Errorf("%d served, %d refused, %d at a time; want 80 to 96, the rest, 16", served.Load(), refused.Load(), most.Load())
		}
		if _, _, err := set.Get(t.Context(), "shop", "a1", nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// Callers who leave, or come with little time, say nothing about a delegate.
func TestCallersWhoDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := wired(t, answering(300*time.Millisecond))
		for range 2 * breakAfter {
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, _, err := set.Get(short, "shop", "a1", nil); err == nil {
				t.Error("no error")
			}
			cancel()
			leaving, cancel := context.WithCancel(t.Context())
			time.AfterFunc(250*time.Millisecond, cancel)
			if _, _, err := set.Get(leaving, "shop", "a1", nil); err == nil {
				t.Error("no error")
			}
		}
		if _, _, err := set.Get(t.Context(), "shop", "a1", nil); err != nil {
			t.Errorf("who waits is not answered: %v", err)
		}
	})
}

// Refusals are answers: KEDA says 500 about one ScaledObject, and is not down.
func TestRefusalsDoNotBreak(t *testing.T) {
	a := serving(t, saying(http.StatusInternalServerError, "broken"))
	set := connected(t, nil, Config{Name: "keda", URL: a.URL})
	for range 4 * breakAfter {
		_, _, _ = set.Get(t.Context(), "shop", "depth", nil)
	}
	if got := len(a.requests()); got != 4*breakAfter {
		t.Errorf("asked %d times, want %d", got, 4*breakAfter)
	}
}

// Real connections: the server is stopped, and nobody listens any more.
func TestAServerThatStops(t *testing.T) {
	a := serving(t, saying(http.StatusOK, list))
	set := connected(t, nil, Config{Name: "keda", URL: a.URL})
	if _, _, err := set.Get(t.Context(), "shop", "depth", nil); err != nil {
		t.Fatal(err)
	}
	a.Close()
	for range 2 * breakAfter {
		_, by, err := set.Get(t.Context(), "shop", "depth", nil)
		if want := "delegate keda at URL: dial: connect: connection refused"; by != "keda" || err == nil || ofURLs(err.Error(), a) != want {
			t.Errorf("by %s: %v, want %s", by, err, want)
		}
	}
}

// Real connections: a server takes them and says nothing.
func TestAServerThatHangs(t *testing.T) {
	release := make(chan struct{})
	a := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	set := connected(t, nil, Config{Name: "keda", URL: a.URL, Timeout: 100 * time.Millisecond})
	for range 2 * breakAfter {
		_, _, err := set.Get(t.Context(), "shop", "depth", nil)
		if want := "delegate keda at URL: no answer within 100ms"; err == nil || ofURLs(err.Error(), a) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
