package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func get(t *testing.T, handler http.Handler, target string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, http.NoBody))
	return recorder.Code, recorder.Body.String()
}

func TestProbes(t *testing.T) {
	var cluster, store error
	probes := NewProbes(Check{"start", func(context.Context) error { return errors.New("not begun") }})
	mux := http.NewServeMux()
	probes.Register(mux)
	steps := []struct {
		name   string
		change func()
		ready  int
		text   string
	}{
		{"the start", func() {}, 503, "start: not begun"},
		{"nothing is there", func() {
			cluster, store = errors.New("not synced"), errors.New("refused")
			probes.Replace(
				Check{"cluster", func(context.Context) error { return cluster }},
				Once(Check{"store", func(context.Context) error { return store }}))
		}, 503, "cluster: not synced\nstore: refused"},
		{"the cluster comes", func() { cluster = nil }, 503, "store: refused"},
		{"the store comes", func() { store = nil }, 200, "ok"},
		{"the store goes: answers come from memory", func() { store = errors.New("refused") }, 200, "ok"},
		{"the cluster goes", func() { cluster = errors.New("forbidden") }, 503, "cluster: forbidden"},
		{"the cluster is back", func() { cluster = nil }, 200, "ok"},
		{"the end", probes.Drain, 503, "shutting down"},
	}
	for _, step := range steps {
		step.change()
		if code, text := get(t, mux, "/readyz"); code != step.ready || strings.TrimSpace(text) != step.text {
			t.Errorf("%s: readyz %d %q; want %d %q", step.name, code, text, step.ready, step.text)
		}
		if code, _ := get(t, mux, "/healthz"); code != 200 {
			t.Errorf("%s: healthz %d; nothing but the process itself may restart it", step.name, code)
		}
	}
}

func TestReadyEndsAHungCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := NewProbes(Check{"store", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		started := time.Now()
		if err := probes.Ready(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(started) >= time.Second {
			t.Errorf("%v after %v; want the deadline before the kubelet's own", err, time.Since(started))
		}
	})
}
