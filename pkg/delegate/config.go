package delegate

import (
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	defaultGroupVersion  = "external.metrics.k8s.io/v1beta1"
	defaultTimeout       = time.Second
	defaultMaxConcurrent = 16
)

// Config describes one delegate.
type Config struct {
	// Name is what messages call it by: a DNS label.
	Name string
	// URL is https://HOST[:PORT][/PATH]; the API is below it.
	URL string
	// CAFile has the PEM authorities of its certificate; empty for those of the system.
	CAFile string
	// ServerName is the name in its certificate; empty for the URL's host.
	ServerName string
	// InsecureSkipVerify takes any certificate.
	InsecureSkipVerify bool
	// TokenFile holds a bearer token, and CertFile and KeyFile a client certificate, all
	// read again when they change. With none of them the credentials are the cluster's.
	TokenFile, CertFile, KeyFile string
	// GroupVersion is the API that it serves, as GROUP/VERSION.
	GroupVersion string
	// Timeout bounds a request, the wait for its turn included.
	Timeout time.Duration
	// MaxConcurrent is how many requests it has under way at most.
	MaxConcurrent int
	Match         Match
}

// Match says which queries are a delegate's own. All lists that are not empty must have
// something that fits.
type Match struct {
	// Metrics and Namespaces are patterns of names as path.Match has them: * is any text
	// and ? any letter.
	Metrics, Namespaces []string
	// Labels are keys of labels that the query's selector has a requirement about.
	Labels []string
}

// empty reports whether the delegate has nothing of its own.
func (m Match) empty() bool {
	return len(m.Metrics) == 0 && len(m.Namespaces) == 0 && len(m.Labels) == 0
}

// fits reports whether a query is the delegate's own, if it has any.
func (m Match) fits(q query) bool {
	return fits(m.Metrics, q.metric) && fits(m.Namespaces, q.namespace) && (len(m.Labels) == 0 || q.requires(m.Labels))
}

// fits reports whether one of the patterns is of a name; no patterns are of all.
func fits(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

// query is one question for the values of a metric.
type query struct {
	namespace, metric string
	selector          labels.Selector // nil for everything
}

// requires reports whether the selector has a requirement about one of the labels.
func (q query) requires(keys []string) bool {
	if q.selector == nil {
		return false
	}
	requirements, _ := q.selector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return slices.Contains(keys, r.Key()) })
}
