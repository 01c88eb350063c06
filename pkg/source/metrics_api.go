package source

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// metricsAPIInterval is how often an API is asked by default: as often as the HPA asks,
// because nobody knows what an answer costs it.
const metricsAPIInterval = 15 * time.Second

var (
	apiURLKey = metadata.Key{
		Name: "url", Required: true, Format: "a URL such as http://shop:8080/stats?queue=jobs",
		Meaning: "What to get. Credentials in it are used for basic authentication; what follows the question mark is never shown.",
	}
	valueLocationKey = metadata.Key{
		Name: "valueLocation", Required: true,
		Format: "a path of GJSON such as queues.0.length for json, a path such as queues.0.length for yaml and xml, " +
			`or a selector such as jobs{queue="a"} for prometheus`,
		Meaning: "Where in the answer the number is.",
	}
	formatKey = metadata.Key{
		Name: "format", Choices: []string{formatJSON, formatXML, formatYAML, formatPrometheus}, Default: formatJSON,
		Meaning: "What the answer is.",
	}
	targetValueKey           = neededTargetKey("targetValue", "value")
	activationTargetValueKey = activationKey("activationTargetValue")
	aggregateKey             = metadata.Key{
		Name: "aggregateFromKubeServiceEndpoints", Kind: metadata.Flag, Default: "false", Format: "false",
		Meaning: "Whether to ask each endpoint of a Service. Dashpot does not: it asks url.",
	}
	aggregationTypeKey = metadata.Key{
		Name: "aggregationType", Choices: []string{"average", "sum", "max", "min"}, Default: "average",
		Meaning: "How KEDA combines endpoints. Not used.",
	}
)

// metricsAPI is KEDA's type metrics-api. longest is how long any read may take.
func metricsAPI(longest time.Duration) kind {
	return kind{
		name: "metrics-api",
		keys: append([]metadata.Key{
			apiURLKey, valueLocationKey, formatKey, targetValueKey, activationTargetValueKey, timeoutKey,
		}, append(apiAuthKeys(), aggregateKey, aggregationTypeKey)...),
		interval: metricsAPIInterval,
		parse: func(m *metadata.Map, salt []byte) (scaling.Trigger, string) {
			refuseAggregation(m)
			query := parseAPIQuery(m, salt, longest)
			return scaling.Trigger{
				Costly:     true,
				Target:     target(m, targetValueKey),
				Activation: number(m, activationTargetValueKey),
				Query:      query,
			}, "metric-api-" + query.location // as KEDA spells it
		},
	}
}

// refuseAggregation: an average over endpoints is not what one of them says.
func refuseAggregation(m *metadata.Map) {
	if m.Flag(aggregateKey) {
		m.Problem(aggregateKey, "Dashpot does not ask the endpoints of a Service one by one; let Prometheus collect them and take the trigger prometheus")
		return
	}
	warnUnused(m, "aggregateFromKubeServiceEndpoints is not true", aggregationTypeKey)
}

// apiQuery is one number in the answer to one request. Two that ask the same are equal.
type apiQuery struct {
	at unique.Handle[httpServer]
	// path is that of the request, with its parameters, of which some may be secret: like the
	// server it is behind a handle, so that it is never printed.
	path             unique.Handle[string]
	format, location string
	timeout          time.Duration
	name, id         string
}

// Server is another one for every query, as it is for Prometheus: how long an answer
// takes is up to what is asked for.
func (q apiQuery) Server() string { return q.id }

// String names the query, as in "metrics-api queues.0.length at http://shop:8080/stats".
// Of parameters it has a mark that tells them apart.
func (q apiQuery) String() string { return q.name }

func (q apiQuery) request() (unique.Handle[httpServer], string, time.Duration) {
	return q.at, q.path.Value(), q.timeout
}

const (
	// maxLocation is the longest valueLocation in bytes.
	maxLocation = 512
	// maxModifiers is how many modifiers of GJSON it may have.
	maxModifiers = 3
)

// multipath is a component of a path of GJSON that makes a new document of several others.
var multipath = regexp.MustCompile(`(^|[.|])[\[{]`)

// checkLocation says why a valueLocation is none. Some paths of GJSON make documents that
// are larger than the one they are given: 14 bytes that double it, 20 times, a gigabyte of a
// kilobyte. A number needs none of them.
func checkLocation(format, location string) error {
	switch {
	case len(location) > maxLocation:
		return fmt.Errorf("it has %d bytes; at most %d are allowed", len(location), maxLocation)
	case format == formatPrometheus && location != "":
		_, err := parseSelector(location)
		return err
	case format == formatJSON && multipath.MatchString(location):
		return errors.New("one that begins with [ or {, be it after a . or |, makes a new document of several values")
	case format == formatJSON && strings.Count(location, "@") > maxModifiers:
		return fmt.Errorf("it has %d modifiers, which begin with @; at most %d are allowed", strings.Count(location, "@"), maxModifiers)
	}
	return nil
}

// parseAPIQuery reads all but the thresholds.
func parseAPIQuery(m *metadata.Map, salt []byte, longest time.Duration) apiQuery {
	address := parseURL(m, apiURLKey, true)
	format, location := m.Text(formatKey), m.Text(valueLocationKey)
	if err := checkLocation(format, location); err != nil {
		m.Problem(valueLocationKey, err.Error())
	}
	header := http.Header{}
	authenticateByURL(address, header)
	shown, mark := address.EscapedPath(), ""
	if address.RawQuery != "" {
		mark = "?#" + fingerprint(nil, address.RawQuery)[:8]
	}
	modes, key := authenticateAPI(m, header)
	if key.parameter != "" {
		parameters := address.Query()
		parameters.Set(key.parameter, key.value)
		address.RawQuery = parameters.Encode()
	}
	server := httpServer{
		base: address.Scheme + "://" + address.Host, headers: lines(header), tls: parseTLS(m, modes, address.Scheme),
	}
	server.id = server.base + "#" + fingerprint(salt, server.headers, server.tls.fingerprint(salt), address.RawQuery)
	return apiQuery{
		at: unique.Make(server), path: unique.Make(address.RequestURI()), format: format, location: location, timeout: parseTimeout(m, longest),
		name: "metrics-api " + oneLine(location) + " at " + server.base + shown + mark,
		id:   "metrics-api " + format + " " + location + " " + shown + " " + server.id,
	}
}

// decode is the outcome of an answer. As in KEDA, only a status of 200 has one.
func (q apiQuery) decode(a httpAnswer) scaling.Outcome {
	if a.status != http.StatusOK {
		return scaling.Outcome{Err: a.refusal(nil)}
	}
	value, err := find(q.format, a, q.location)
	if err != nil {
		return scaling.Outcome{Err: err}
	}
	return numberIn(value)
}
