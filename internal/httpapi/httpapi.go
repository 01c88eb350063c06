// Package httpapi answers people: what was decided and why, and what to do about
// it. It is plain JSON over HTTP, for curl.
//
//	GET    /v1/policies                  the last decision of every policy
//	GET    /v1/policies/NAMESPACE/NAME   the same of one object's policies
//	DELETE /v1/policies/NAMESPACE/NAME   forget what is remembered of them
//	POST   /v1/poke/NAMESPACE/NAME       look at an object's triggers now
//
// An answer with a status of 400 or more is {"error": "..."}. A decision is shown
// by the replica that made it; of two replicas each shows its own last one, which
// its field at dates. Policies are for an Audience; a poke, which only makes Dashpot
// read what it reads anyway, and not often, is for everybody.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// Policies is what can be asked and done about policies.
type Policies interface {
	// Decisions returns the last decision of every policy that was asked about.
	Decisions() []scaling.Decision
	// Forget drops what is remembered of an object's policies, and returns of how
	// many.
	Forget(ctx context.Context, namespace, name string) (int, error)
}

// Poke has an object's triggers looked at, wherever its stream is open. It returns
// ErrNotPoked where it is known that nobody looks.
type Poke func(ctx context.Context, namespace, name string) error

// ErrNotPoked says why a poke had no effect.
var ErrNotPoked = errors.New("no stream of this object is open (is its trigger of type external-push?), or it was poked too often within the last second")

// timeout ends a request whose store does not answer.
const timeout = 5 * time.Second

type api struct {
	mux      *http.ServeMux
	audience Audience
	policies Policies
	poke     Poke
	log      *slog.Logger
}

// New returns the handler of /v1/, which knows no pokes if poke is nil. Failures that are not the caller's go to log.
func New(audience Audience, policies Policies, poke Poke, log *slog.Logger) http.Handler {
	a := &api{http.NewServeMux(), audience, policies, poke, log}
	a.handle("GET /v1/policies", a.private(a.list))
	a.handle("GET /v1/policies/{namespace}/{name}", a.private(a.show))
	a.handle("DELETE /v1/policies/{namespace}/{name}", a.private(a.forget))
	if poke != nil {
		a.handle("POST /v1/poke/{namespace}/{name}", a.pokeObject)
	}
	sameOrigin := http.NewCrossOriginProtection()
	sameOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.write(w, http.StatusForbidden, failure{"a page of another origin may not do this"})
	}))
	return sameOrigin.Handler(a)
}

// ServeHTTP implements http.Handler. The mux's own answers, 404 and 405, become
// JSON.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	answer := statusOnly{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(&answer, r)
	text := "no such resource: " + r.URL.Path
	if allow := answer.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		text = fmt.Sprintf("method %s is not allowed here; allowed: %s", r.Method, allow)
	}
	a.write(w, answer.status, failure{text})
}

// statusOnly takes an answer and keeps its status and headers.
type statusOnly struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (s *statusOnly) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *statusOnly) WriteHeader(status int) { s.status = status }

// Write implements http.ResponseWriter.
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// failure is the body of an answer that is an error.
type failure struct {
	Error string `json:"error"`
}

// problem is an error with the status that tells it.
type problem struct {
	status int
	error
}

// handle serves a pattern by a function that returns what to answer: a status and
// a body, or an error.
func (a *api) handle(pattern string, serve func(*http.Request) (int, any, error)) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		status, body, err := serve(r.WithContext(ctx))
		if err == nil {
			a.write(w, status, body)
			return
		}
		var p problem
		if !errors.As(err, &p) {
			a.log.Error("HTTP request failed", "pattern", pattern, "error", err)
			p = problem{http.StatusServiceUnavailable, err}
		}
		a.write(w, p.status, failure{p.Error()})
	})
}

// private serves the audience and nobody else.
func (a *api) private(serve func(*http.Request) (int, any, error)) func(*http.Request) (int, any, error) {
	return func(r *http.Request) (int, any, error) {
		if !a.audience.has(r) {
			return 0, nil, problem{http.StatusForbidden, fmt.Errorf("policies are not served to this caller: --decisions is %s", a.audience)}
		}
		return serve(r)
	}
}

func (a *api) write(w http.ResponseWriter, status int, body any) {
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		a.log.Error("HTTP answer not encoded", "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a caller that is gone needs no answer
}

type policyList struct {
	Policies []scaling.Explanation `json:"policies"`
}

func (a *api) list(*http.Request) (int, any, error) {
	list := policyList{Policies: []scaling.Explanation{}}
	for _, d := range a.policies.Decisions() {
		list.Policies = append(list.Policies, scaling.Explain(d))
	}
	return http.StatusOK, list, nil
}

func (a *api) show(r *http.Request) (int, any, error) {
	namespace, name, err := object(r)
	if err != nil {
		return 0, nil, err
	}
	var list policyList
	for _, d := range a.policies.Decisions() {
		if d.Key.Namespace == namespace && d.Key.Name == name {
			list.Policies = append(list.Policies, scaling.Explain(d))
		}
	}
	if len(list.Policies) == 0 {
		return 0, nil, unknown(namespace, name)
	}
	return http.StatusOK, list, nil
}

func (a *api) forget(r *http.Request) (int, any, error) {
	namespace, name, err := object(r)
	if err != nil {
		return 0, nil, err
	}
	forgotten, err := a.policies.Forget(r.Context(), namespace, name)
	if err != nil {
		return 0, nil, err
	}
	if forgotten == 0 {
		return 0, nil, unknown(namespace, name)
	}
	return http.StatusOK, struct {
		Forgotten int `json:"forgotten"`
	}{forgotten}, nil
}

func (a *api) pokeObject(r *http.Request) (int, any, error) {
	namespace, name, err := object(r)
	if err != nil {
		return 0, nil, err
	}
	switch err := a.poke(r.Context(), namespace, name); {
	case errors.Is(err, ErrNotPoked):
		return 0, nil, problem{http.StatusNotFound, err}
	case err != nil:
		return 0, nil, fmt.Errorf("poke %s/%s: %w", namespace, name, err)
	}
	return http.StatusAccepted, struct {
		Poked string `json:"poked"`
	}{namespace + "/" + name}, nil
}

func unknown(namespace, name string) error {
	return problem{http.StatusNotFound, fmt.Errorf("no policy of %s/%s has been asked for here lately", namespace, name)}
}

// objectName is what Kubernetes accepts as the name of a custom resource, and more
// than it accepts as a namespace. A poke travels as "NAMESPACE NAME", so a blank
// must not pass.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// object is the object that a request's path names.
func object(r *http.Request) (namespace, name string, err error) {
	namespace, name = r.PathValue("namespace"), r.PathValue("name")
	for _, value := range []string{namespace, name} {
		if !objectName.MatchString(value) {
			return "", "", problem{http.StatusBadRequest, fmt.Errorf(
				"%.300q is no Kubernetes name: at most 253 of a-z, 0-9, - and ., the first and the last a letter or digit", value)}
		}
	}
	return namespace, name, nil
}
