package source

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// answering is a transport without a network, for the clock of a bubble.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// bounded are clients that look at two answers at a time, of servers that all answer so.
func bounded(answer answering) httpClients {
	clients := newHTTPClients(time.Minute, 2, egress.Dialer{})
	clients.pool.open = func(httpTLS) (*http.Client, error) { return &http.Client{Transport: answer}, nil }
	return clients
}

// TestParsingIsBounded: of answers of many servers two are looked at at a time, and who
// waits for room waits no longer than his context.
func TestParsingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := bounded(func(*http.Request) *http.Response {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
		})
		var parsing, worst, late atomic.Int32
		var reads sync.WaitGroup
		for i := range 10 {
			reads.Go(func() {
				at := unique.Make(httpServer{base: fmt.Sprintf("http://host-%d", i)})
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				_, err := clients.get(ctx, at, "/", func(httpAnswer) scaling.Outcome {
					worst.Store(max(worst.Load(), parsing.Add(1)))
					time.Sleep(time.Second)
					parsing.Add(-1)
					return scaling.Outcome{}
				})
				if err != nil && err.Error() == "no answer in time" {
					late.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		reads.Wait()
		clients.close()
		if worst.Load() != 2 || late.Load() != 2 { // two at a time begin at 0, 1, 2 and 3 s
			t.Errorf("%d were looked at at a time and %d came too late, want 2 and 2", worst.Load(), late.Load())
		}
	})
}

// TestLongAnswersAreBounded: of those longer than 64 KiB eight are kept, four for each that
// is looked at. One that does not come to its end keeps its room, but from no short one.
func TestLongAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int32
		clients := bounded(func(r *http.Request) *http.Response {
			body := &hanging{Reader: strings.NewReader("short"), r: r}
			if r.URL.Path == "/long" {
				body.Reader, body.hangs, body.held = strings.NewReader(strings.Repeat("x", shortAnswer+1)), true, &held
			}
			return &http.Response{StatusCode: http.StatusOK, Body: body}
		})
		get := func(path string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := clients.get(ctx, unique.Make(httpServer{base: "http://host"}), path, func(httpAnswer) scaling.Outcome { return scaling.Outcome{} })
			return err
		}
		var reads sync.WaitGroup
		for range 20 {
			reads.Go(func() {
				if err := get("/long"); err == nil || err.Error() != "no answer in time" {
					t.Errorf("got %v from a server that hangs", err)
				}
			})
		}
		synctest.Wait()
		if held.Load() != 8 {
			t.Errorf("%d long answers are kept, want 8", held.Load())
		}
		if err := get("/short"); err != nil {
			t.Errorf("a short answer: %v", err)
		}
		reads.Wait()
		clients.close()
	})
}

// hanging is a body that, where it hangs, has no end before its request.
type hanging struct {
	*strings.Reader

	r     *http.Request
	hangs bool
	held  *atomic.Int32
}

func (h *hanging) Read(into []byte) (int, error) {
	if h.hangs && h.Len() == 0 {
		h.held.Add(1)
		<-h.r.Context().Done()
		return 0, h.r.Context().Err()
	}
	return h.Reader.Read(into)
}

func (h *hanging) Close() error { return nil }
