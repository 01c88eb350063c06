package source

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// prometheusInterval is how often a Prometheus server is asked by default: as often as
// the HPA asks, because many share the server and a query can be expensive.
const prometheusInterval = 15 * time.Second

var (
	serverAddressKey = metadata.Key{
		Name: "serverAddress", Required: true, Format: "a URL such as http://prometheus:9090, with a path if the API is below one",
		Meaning: "Where the server is. Credentials in it are used for basic authentication.",
	}
	queryKey = metadata.Key{
		Name: "query", Required: true, Format: "a PromQL query for one number",
		Meaning: "What to ask. The answer must be a vector of one series at most.",
	}
	thresholdKey           = neededTargetKey("threshold", "query's value")
	activationThresholdKey = activationKey("activationThreshold")
	namespaceKey           = metadata.Key{
		Name:    "namespace",
		Meaning: "Sent as the parameter namespace, for servers that want one, as the Thanos Querier of OpenShift.",
	}
	queryParametersKey = metadata.Key{
		Name: "queryParameters", Format: "name=value, or several separated by commas",
		Meaning: "Further parameters of the request. They are part of the query's name; a secret belongs in a header.",
	}
	ignoreNullValuesKey = metadata.Key{
		Name: "ignoreNullValues", Kind: metadata.Flag, Default: "true",
		Meaning: "Whether no series, null, NaN and infinities count as 0. If not, they are errors.",
	}
	timeoutKey = metadata.Key{
		Name: "timeout", Format: "a duration such as 2s, or a whole number of milliseconds",
		Meaning: "How long a request may take, 3s at most, which is also the default.",
	}
)

// prometheus is KEDA's type of that name. longest is how long any read may take.
func prometheus(longest time.Duration) kind {
	return kind{
		name: "prometheus",
		keys: append([]metadata.Key{
			serverAddressKey, queryKey, thresholdKey, activationThresholdKey, ignoreNullValuesKey,
			namespaceKey, queryParametersKey, timeoutKey,
		}, httpKeys()...),
		interval: prometheusInterval,
		parse: func(m *metadata.Map, salt []byte) (scaling.Trigger, string) {
			return scaling.Trigger{
				Costly:     true,
				Target:     target(m, thresholdKey),
				Activation: number(m, activationThresholdKey),
				Query:      parsePromQuery(m, salt, longest),
			}, "prometheus"
		},
	}
}

// promQuery is one PromQL query at one server. Two that ask the same are equal.
type promQuery struct {
	at unique.Handle[httpServer]
	// path is that of the request, with its parameters.
	path       string
	ignoreNull bool
	timeout    time.Duration
	name, id   string
}

// Server is another one for every query: how long an answer takes is up to the query
// more than to the server, so that nobody may share the fate of one that hangs.
func (q promQuery) Server() string { return q.id }

// String names the query, as in "prometheus sum(up) at http://prometheus:9090". It does
// not say by which credentials, but it tells tenants apart.
func (q promQuery) String() string { return q.name }

func (q promQuery) request() (unique.Handle[httpServer], string, time.Duration) {
	return q.at, q.path, q.timeout
}

// parsePromQuery reads all but the thresholds. The time of the query is left to the
// server, whose clock is that of its samples.
func parsePromQuery(m *metadata.Map, salt []byte, longest time.Duration) promQuery {
	q := promQuery{
		at:         parseHTTPServer(m, serverAddressKey, salt),
		ignoreNull: m.Flag(ignoreNullValuesKey),
		timeout:    parseTimeout(m, longest),
	}
	query, namespace := m.Text(queryKey), m.Text(namespaceKey)
	parameters, extra := parseParameters(m), ""
	if len(parameters) > 0 {
		extra = " with " + oneLine(m.Text(queryParametersKey))
	}
	if namespace != "" {
		parameters.Set("namespace", namespace)
		extra = " in namespace " + oneLine(namespace) + extra
	}
	parameters.Set("query", query)
	q.path = "/api/v1/query?" + parameters.Encode()
	server := q.at.Value()
	q.name = "prometheus " + oneLine(query) + extra + tenant(server) + " at " + server.base
	q.id = "prometheus " + server.id + " " + q.path
	return q
}

// tenant tells apart the tenants that some servers are told by a header: two of them
// have two answers to one query. It does not name them, because what is in a header may
// be a key. The mark of 32 bits is the same in every process, for records are kept by a
// query's name; it has no salt, and so a tenant's name that can be guessed can be verified
// by it.
func tenant(server httpServer) string {
	header := server.header()
	mimir, thanos := header.Get("X-Scope-Orgid"), header.Get("Thanos-Tenant")
	if mimir == "" && thanos == "" {
		return ""
	}
	return " of tenant #" + fingerprint(nil, mimir, thanos)[:8]
}

// parseParameters reads name=value,name=value. Of two with one name the last counts.
func parseParameters(m *metadata.Map) url.Values {
	parameters := url.Values{}
	for _, entry := range fields(m.Text(queryParametersKey)) {
		name, value, found := strings.Cut(entry, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" {
			m.Problem(queryParametersKey, "")
			return url.Values{}
		}
		parameters.Set(name, value)
	}
	return parameters
}

// parseTimeout reads a time in KEDA's unit, which is not that of Dashpot's own keys: a
// bare 5 is 5 ms. As in KEDA, 0 means the default.
func parseTimeout(m *metadata.Map, longest time.Duration) time.Duration {
	text := m.Text(timeoutKey)
	if text == "" {
		return longest
	}
	timeout, err := time.ParseDuration(text)
	if err != nil {
		var milliseconds uint64
		milliseconds, err = strconv.ParseUint(text, 10, 31)
		timeout = time.Duration(milliseconds) * time.Millisecond
		if err == nil && timeout > 0 && timeout < 100*time.Millisecond {
			m.Warn("timeout: %s is a number of milliseconds, as in KEDA; for seconds write %ss", text, text)
		}
	}
	switch {
	case err != nil || timeout < 0:
		m.Problem(timeoutKey, "")
	case timeout > longest:
		m.Warn("timeout: %s is longer than any read may take; %v is what counts", text, longest)
	case timeout > 0:
		return timeout
	}
	return longest
}
