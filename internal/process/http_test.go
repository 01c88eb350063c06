package process

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// A request that is under way when the context ends is answered; ServeHTTP then
// returns nil.
func TestServeHTTPFinishesWhatItBegan(t *testing.T) {
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		_, _ = io.WriteString(w, "answer")
	})
	ended := make(chan error, 1)
	go func() { ended <- ServeHTTP(ctx, listener, handler) }()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "answer" || err != nil {
		t.Errorf("body %q, error %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v; want nil", err)
	}
}

func TestServeHTTPLimitsRequests(t *testing.T) {
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tooLarge *http.MaxBytesError
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); errors.As(err, &tooLarge) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	go func() { _ = ServeHTTP(ctx, listener, handler) }()
	address := "http://" + listener.Addr().String()
	for _, test := range []struct {
		name, url, body string
		want            int
	}{
		{"small", address, "body", http.StatusOK},
		{"large body", address, strings.Repeat("x", maxBodyBytes+1), http.StatusRequestEntityTooLarge},
		{"long URL", address + "/" + strings.Repeat("x", 2*maxHeaderBytes), "", http.StatusRequestHeaderFieldsTooLarge},
	} {
		response, err := http.Post(test.url, "text/plain", strings.NewReader(test.body))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%s: status %d; want %d", test.name, response.StatusCode, test.want)
		}
	}
}

func TestServeHTTPFailsWithItsListener(t *testing.T) {
	listener := listen(t)
	_ = listener.Close()
	if err := ServeHTTP(t.Context(), listener, http.NotFoundHandler()); err == nil {
		t.Error("no error of a closed listener")
	}
}
