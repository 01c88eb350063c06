package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// fakePolicies has decisions and forgets nothing but counts.
type fakePolicies struct {
	decisions []scaling.Decision
	err       error
}

func (f fakePolicies) Decisions() []scaling.Decision { return f.decisions }

func (f fakePolicies) Forget(_ context.Context, namespace, name string) (int, error) {
	count := 0
	for _, d := range f.decisions {
		if d.Key.Namespace == namespace && d.Key.Name == name {
			count++
		}
	}
	return count, f.err
}

func decision(name, metric string, replicas int32) scaling.Decision {
	return scaling.Decision{
		Key:  scaling.Key{Ref: scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "shop", Name: name}, Record: metric},
		Mode: scaling.Stabilised, At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		Replicas: replicas, Awake: true, Active: true, Decider: -1,
	}
}

func newAPI(policies Policies, poke Poke) http.Handler {
	return New(Everybody, policies, poke, slog.New(slog.DiscardHandler))
}

// call returns the status of a request and its body, as text and decoded.
func call(t *testing.T, handler http.Handler, method, target string, body any) (status int, text string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, target, http.NoBody))
	if got := recorder.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: content type %q", method, target, got)
	}
	text = recorder.Body.String()
	if err := json.Unmarshal([]byte(text), body); err != nil {
		t.Errorf("%s %s: %v in %q", method, target, err, text)
	}
	return recorder.Code, text
}

func TestStatuses(t *testing.T) {
	policies := fakePolicies{decisions: []scaling.Decision{decision("worker", "jobs", 3)}}
	poke := func(_ context.Context, namespace, name string) error {
		switch namespace + "/" + name {
		case "shop/worker":
			return nil
		case "shop/broken":
			return errors.New("store away")
		}
		return ErrNotPoked
	}
	tests := []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/v1/policies", 200, `"name": "worker"`},
		{"HEAD", "/v1/policies", 200, `"name": "worker"`},
		{"POST", "/v1/policies", 405, "method POST is not allowed here; allowed: GET, HEAD"},
		{"GET", "/v1/policies/shop/worker", 200, `"replicas": 3`},
		{"GET", "/v1/policies/shop/other", 404, "no policy of shop/other"},
		{"GET", "/v1/policies/shop/UPPER", 400, `\"UPPER\" is no Kubernetes name`},
		{"GET", "/v1/policies/shop/a%20b", 400, "is no Kubernetes name"},
		{"GET", "/v1/policies/shop/a%2Fb", 400, "is no Kubernetes name"},
		{"GET", "/v1/policies/shop/" + strings.Repeat("x", 253), 404, "no policy of"},
		{"GET", "/v1/policies/shop/" + strings.Repeat("x", 254), 400, "is no Kubernetes name"},
		{"PUT", "/v1/policies/shop/worker", 405, "allowed: DELETE, GET, HEAD"},
		{"DELETE", "/v1/policies/shop/worker", 200, `"forgotten": 1`},
		{"DELETE", "/v1/policies/shop/other", 404, "no policy of shop/other"},
		{"DELETE", "/v1/policies/shop/-", 400, "is no Kubernetes name"},
		{"POST", "/v1/poke/shop/worker", 202, `"poked": "shop/worker"`},
		{"POST", "/v1/poke/shop/other", 404, "no stream of this object is open"},
		{"POST", "/v1/poke/shop/broken", 503, "store away"},
		{"POST", "/v1/poke/shop/a%0Ab", 400, "is no Kubernetes name"},
		{"GET", "/v1/poke/shop/worker", 405, "allowed: POST"},
		{"GET", "/v1/nothing", 404, "no such resource: /v1/nothing"},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			var body map[string]any
			status, text := call(t, newAPI(policies, poke), test.method, test.path, &body)
			if status != test.status || !strings.Contains(text, test.text) {
				t.Errorf("%d %s; want %d with %q", status, text, test.status, test.text)
			}
			if _, isError := body["error"]; isError != (test.status >= 400) {
				t.Errorf("answer %s: an error and a status of 400 or more belong together", text)
			}
		})
	}
}

func TestListIsEmptyNotNull(t *testing.T) {
	var body policyList
	_, text := call(t, newAPI(fakePolicies{}, nil), "GET", "/v1/policies", &body)
	if body.Policies == nil || len(body.Policies) > 0 {
		t.Errorf("answer %s; want an empty list", text)
	}
}

func TestShowHasEveryPolicyOfTheObjectAndNoOther(t *testing.T) {
	policies := fakePolicies{decisions: []scaling.Decision{
		decision("other", "jobs", 1), decision("worker", "jobs", 3), decision("worker", "mails", 5),
	}}
	var body policyList
	call(t, newAPI(policies, nil), "GET", "/v1/policies/shop/worker", &body)
	if len(body.Policies) != 2 || body.Policies[0].Replicas != 3 || body.Policies[1].Policy.Record != "mails" {
		t.Errorf("got %+v; want the policies jobs and mails of worker", body.Policies)
	}
}

func TestForgetThatFailsSaysWhy(t *testing.T) {
	policies := fakePolicies{decisions: []scaling.Decision{decision("worker", "jobs", 3)}, err: errors.New("store away")}
	var body failure
	status, _ := call(t, newAPI(policies, nil), "DELETE", "/v1/policies/shop/worker", &body)
	if status != http.StatusServiceUnavailable || !strings.Contains(body.Error, "store away") {
		t.Errorf("%d %q; want 503 with the reason", status, body.Error)
	}
}

// A page in somebody's browser must not be able to make it forget or poke.
func TestCrossOriginIsRefused(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "/v1/poke/shop/worker", http.NoBody)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	recorder := httptest.NewRecorder()
	newAPI(fakePolicies{}, func(context.Context, string, string) error { return nil }).ServeHTTP(recorder, request)
	if recorder.Code != http.StatusForbidden || !strings.Contains(recorder.Body.String(), `"error"`) {
		t.Errorf("%d %s; want 403 with an error", recorder.Code, recorder.Body)
	}
}

func TestPokeHasADeadline(t *testing.T) {
	poke := func(ctx context.Context, _, _ string) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		return nil
	}
	var body map[string]any
	call(t, newAPI(fakePolicies{}, poke), "POST", "/v1/poke/shop/worker", &body)
}
