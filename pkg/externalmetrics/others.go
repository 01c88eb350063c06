package externalmetrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// listInterval is how often other servers are asked what they have. The API server looks
// at what we have as seldom.
const listInterval = time.Minute

// Others are other servers of external metrics, which are asked where there is no
// StabilizedMetric of a name.
type Others interface {
	// Get returns the values of a metric, and who has answered. by is empty where
	// nobody has the metric, and the error says so. An error is a status, and passes
	// as it is.
	Get(ctx context.Context, namespace, metric string, selector labels.Selector) (values *external_metrics.ExternalMetricValueList, by string, err error)
	// List returns the names that they show to everybody. It may take as long as
	// the slowest of them.
	List(ctx context.Context) []string
	// Passed reports whether a request, by its header, has come through another server
	// like this one, and must not be passed on again.
	Passed(h http.Header) bool
}

// shared are values of ours and, where there is no StabilizedMetric of a name, those of
// others.
type shared struct {
	values
	others Others
	// listed are the names that the others have told last.
	listed *atomic.Pointer[[]string]
}

var _ provider.ExternalMetricsProvider = shared{}

func newShared(own values, others Others) shared {
	s := shared{own, others, &atomic.Pointer[[]string]{}}
	s.listed.Store(&[]string{})
	return s
}

// GetExternalMetric returns the one value of a StabilizedMetric, or what others answer.
func (s shared) GetExternalMetric(ctx context.Context, namespace string, selector labels.Selector, info provider.ExternalMetricInfo) (*external_metrics.ExternalMetricValueList, error) {
	began := time.Now()
	list, by, err := s.find(ctx, namespace, info.Metric, selector)
	s.observe(Call{Status: statusCode(err), By: by, Took: time.Since(began)})
	return list, err
}

// find asks the others for what is certain not to be a StabilizedMetric: not before those
// are known, and not for one whose labels do not match.
func (s shared) find(ctx context.Context, namespace, name string, selector labels.Selector) (list *external_metrics.ExternalMetricValueList, by string, err error) {
	if err := reserved(ctx, namespace); err != nil {
		return nil, "", err
	}
	metric, missing := s.policies.Metric(ctx, namespace, name)
	switch {
	case missing == nil:
		list, err = s.decided(ctx, metric, selector)
		return list, "", err
	case !errors.Is(missing, scaling.ErrNoSuchMetric):
		return nil, "", toStatus(namespace, name, missing)
	case ctx.Value(passed{}) != nil:
		return nil, "", toStatus(namespace, name, fmt.Errorf("%w; %w", missing, errPassed))
	}
	list, by, err = s.others.Get(ctx, namespace, name, selector)
	if err != nil && by == "" {
		return nil, "", toStatus(namespace, name, fmt.Errorf("%w; %w", missing, err))
	}
	return list, by, err
}

// ListAllExternalMetrics is our own name and, behind it, those that others show to
// everybody.
func (s shared) ListAllExternalMetrics() []provider.ExternalMetricInfo {
	infos := s.values.ListAllExternalMetrics()
	for _, name := range *s.listed.Load() {
		if name != ownName {
			infos = append(infos, provider.ExternalMetricInfo{Metric: name})
		}
	}
	return infos
}

// passed is the context key of a request that must not be passed on.
type passed struct{}

// errPassed ends the way of a query around servers that name each other.
var errPassed = errors.New("another Dashpot has passed the query on to this one, which does not pass it on again")

// follow asks the others for their names until the context ends, and calls changed when
// there are other ones. Discovery waits for none of it.
func (s shared) follow(ctx context.Context, changed func()) {
	ticker := time.NewTicker(listInterval)
	defer ticker.Stop()
	for {
		if names := s.others.List(ctx); !slices.Equal(names, *s.listed.Load()) {
			s.listed.Store(&names)
			changed()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// marked tells requests that have been passed on to us. They are answered from what is
// our own, discovery included: otherwise two servers that name each other would keep a
// name for ever that is nowhere any more.
func marked(next http.Handler, g group, others Others) http.Handler {
	root := genericserver.APIGroupPrefix + "/" + g.version.String()
	own := discovery.NewAPIVersionHandler(g.codecs, g.version, provider.NewExternalMetricResourceLister(values{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !others.Passed(r.Header):
			next.ServeHTTP(w, r)
		case strings.TrimSuffix(r.URL.Path, "/") == root:
			own.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passed{}, true)))
		}
	})
}
