package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestAudience: who may see decisions and have them forgotten. Nothing that a caller writes
// into its request makes it another one.
func TestAudience(t *testing.T) {
	for _, tt := range []struct {
		audience     Audience
		remote, host string
		served       bool
	}{
		{Local, "127.0.0.1:5000", "localhost:8080", true},
		{Local, "127.0.0.1:5000", "localhost", true},
		{Local, "127.0.0.1:5000", "127.0.0.1:8080", true},
		{Local, "127.0.0.3:5000", "127.0.0.2:8080", true},
		{Local, "[::1]:5000", "[::1]:8080", true},
		{Local, "[::1]:5000", "[::1]", true},
		{Local, "[::ffff:127.0.0.1]:5000", "localhost:8080", true},
		{Local, "10.1.2.3:5000", "localhost:8080", false},
		{Local, "10.1.2.3:5000", "10.1.2.3:8080", false}, // the pod, by its own address
		{Local, "127.0.0.1:5000", "evil.example:8080", false},
		{Local, "127.0.0.1:5000", "localhost.evil.example:8080", false},
		{Local, "127.0.0.1:5000", "", false},
		{Local, "", "localhost:8080", false},
		{"", "10.1.2.3:5000", "localhost:8080", false},
		{Everybody, "10.1.2.3:5000", "dashpot:8080", true},
		{Nobody, "127.0.0.1:5000", "localhost:8080", false},
	} {
		policies := fakePolicies{decisions: []scaling.Decision{decision("worker", "jobs", 3)}}
		handler := New(tt.audience, policies, nil, slog.New(slog.DiscardHandler))
		for _, target := range []string{"GET /v1/policies", "HEAD /v1/policies", "GET /v1/policies/shop/worker", "DELETE /v1/policies/shop/worker"} {
			method, path, _ := strings.Cut(target, " ")
			request := httptest.NewRequest(method, path, http.NoBody)
			request.RemoteAddr, request.Host = tt.remote, tt.host
			request.Header.Set("X-Forwarded-For", "127.0.0.1")
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			body := recorder.Body.String()
			if served := recorder.Code == http.StatusOK; served != tt.served || (!served && (recorder.Code != http.StatusForbidden || strings.Contains(body, "worker"))) {
				t.Errorf("--decisions=%s, %s of %s as %s: %d %s; want it served: %v", tt.audience, target, tt.remote, tt.host, recorder.Code, body, tt.served)
			}
		}
	}
}
