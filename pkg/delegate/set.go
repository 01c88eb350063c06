package delegate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/external_metrics"
)

// Set is a number of delegates, in order. It is safe for concurrent use.
type Set struct{ servers []*server }

// Connect returns the Set of a plan. cluster has the credentials for the delegates
// without their own; nil for none. Files are read, and nobody is asked yet.
func (p *Plan) Connect(cluster *rest.Config) (*Set, error) {
	if p == nil {
		return &Set{}, nil
	}
	set := &Set{}
	var problems []error
	for _, c := range p.delegates {
		s, err := connect(c, cluster)
		problems = append(problems, err)
		set.servers = append(set.servers, s)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return set, nil
}

// Names are those of the delegates, in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.servers))
	for i, d := range s.servers {
		names[i] = d.Name
	}
	return names
}

// Passed reports whether a request, by its header, has been passed on to us, and so is not
// to be passed on again: two servers that name each other would never come to an end.
func (s *Set) Passed(h http.Header) bool { return h.Get(header) != "" }

// Get returns the values of a metric, and by whom. The first delegate whose rules fit is
// the only one that is asked; without one, those that have no rules are, in order, until
// one says something else than that there is no such metric. One that cannot be asked
// ends it: the metric may be its own.
//
// by is empty where no delegate has the metric, and the error says so. Every error is a
// *apierrors.StatusError: that of the delegate, or one that names it.
func (s *Set) Get(ctx context.Context, namespace, metric string, selector labels.Selector) (values *external_metrics.ExternalMetricValueList, by string, err error) {
	q := query{namespace, metric, selector}
	for _, d := range s.servers {
		if !d.Match.empty() && d.Match.fits(q) {
			values, err := d.values(ctx, q)
			return values, d.Name, err
		}
	}
	var refusals []string
	for _, d := range s.servers {
		if !d.Match.empty() {
			continue
		}
		values, err := d.values(ctx, q)
		if !lacks(err) {
			return values, d.Name, err
		}
		refusals = append(refusals, fmt.Sprintf("delegate %s: %v", d.Name, err))
	}
	if len(refusals) == 0 {
		refusals = []string{"no rule of a delegate fits: " + strings.Join(s.Names(), ", ")}
	}
	return nil, "", &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: strings.Join(refusals, "; "),
	}}
}

// Read returns the values of a metric of one delegate, whatever the rules. The error names
// the delegate, if it is not its own word.
func (s *Set) Read(ctx context.Context, delegate, namespace, metric string, selector labels.Selector) ([]resource.Quantity, error) {
	i := slices.IndexFunc(s.servers, func(d *server) bool { return d.Name == delegate })
	if i < 0 {
		return nil, fmt.Errorf("no delegate is called %q", delegate)
	}
	list, err := s.servers[i].values(ctx, query{namespace, metric, selector})
	if err != nil {
		return nil, err
	}
	quantities := make([]resource.Quantity, len(list.Items))
	for i, item := range list.Items {
		quantities[i] = item.Value
	}
	return quantities, nil
}

// List returns the names of the metrics that the delegates show to everybody, sorted. It
// asks all of them at once, each for its timeout at most; of one that does not answer it
// returns what that has told last.
func (s *Set) List(ctx context.Context) []string {
	var asked sync.WaitGroup
	for _, d := range s.servers {
		asked.Go(func() { d.list(ctx) })
	}
	asked.Wait()
	var names []string
	for _, d := range s.servers {
		names = append(names, d.told()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// list asks for the names, and keeps those known before if there is no answer.
func (s *server) list(ctx context.Context) {
	names, err := s.names(ctx)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = names
}

func (s *server) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}
