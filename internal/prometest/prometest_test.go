package prometest

import (
	"context"
	"math"
	"net/http"
	"testing"
	"time"
)

func TestServerHasTheSeriesThatAreSet(t *testing.T) {
	t.Parallel()
	server := Start(t)
	for _, value := range []float64{37, 0.5, -3, math.NaN(), math.Inf(1)} {
		server.Set(`jobs{queue="a"}`, value)
	}
	server.Set(`jobs{queue="b"}`, 2)
	server.Remove(`jobs{queue="a"}`)
	if got, err := server.value(t.Context(), "sum(jobs)"); got != "2" {
		t.Errorf("sum %s, %v, want 2", got, err)
	}

	server.Suspend()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got, err := server.value(ctx, "sum(jobs)"); err == nil {
		t.Errorf("a suspended server answered %s", got)
	}
	server.Resume()
	server.Set("jobs", 3)
}

func TestServerThatProtectsItself(t *testing.T) {
	t.Parallel()
	server := Start(t, WithClientCertificates(), WithBasicAuth())
	server.Set("jobs", 1) // its own client gets in
	if cert, key := server.ClientCertificate(); server.CA() == "" || cert == "" || key == "" {
		t.Error("certificates are missing")
	}
	response, err := http.Get(server.URL())
	if err == nil {
		_ = response.Body.Close()
		t.Error("a stranger got in")
	}
}
