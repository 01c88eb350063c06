package policy_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// FuzzParse reads metadata that is arbitrary, or good but for one entry. There is
// always a policy with a name and a target; and a policy without a problem is one
// that Step can follow through whatever happens.
func FuzzParse(f *testing.F) {
	keys := []string{
		"source", "behavior", "cooldownPeriod", "interval", "minReplicaCount", "maxReplicaCount", "metricName",
		"fallback", "shadow", "listName", "listLength", "activationListLength", "address", "host", "port",
		"databaseIndex", "passwordFromEnv", "stream", "consumerGroup", "lagCount", "streamLength", "", "listnme",
		"serverAddress", "query", "threshold", "activationThreshold", "namespace", "customHeaders", "ignoreNullValues",
		"queryParameters", "source.unsafeSsl", "timeout", "authModes", "bearerTokenFromEnv", "ca", "cert", "customAuthHeader",
	}
	samples := []string{
		"", "0", "5", "-1", "1e9", "0.001", "1e-10", "NaN", "Inf", "9e99", "redis", "redis-streams", "redis-lists", "a:1,b:2", "{}", "null", "[]", "true",
		"{scaleUp: {tolerance: 9e999999999}}", "{scaleUp: {tolerance: 1e-999999999}}", "{scaleUp: {policies: [{type: Pods, value: 1000000, periodSeconds: 1}], tolerance: 1u}, scaleDown: {selectPolicy: Disabled}}",
		"{after: 1, replicas: 1000000, behavior: static}", "&a [*a]", "a: &x {b: *x}", "..", "%2F", "\xff", "\x00",
		"prometheus", "http://u:p@h:1/p/", "https://[::1%25a]", "sum(a)\n/ b", "70000m", "a=b,c=d=e", "bearer,custom,tls", "1.5h", "-----BEGIN X-----\n",
	}
	for i, key := range keys {
		for j, sample := range samples {
			f.Add(uint8(i+j), key, sample, keys[(i+7)%len(keys)], samples[(j+5)%len(samples)], uint64(i*j))
		}
	}
	sources := source.New(source.Options{})
	f.Cleanup(sources.Close)
	parser := policy.Parser{Sources: sources}
	f.Fuzz(func(t *testing.T, base uint8, key1, value1, key2, value2 string, seed uint64) {
		metadata := fuzzBase(base)
		metadata[key1], metadata[key2] = value1, value2
		p := parser.Parse(metadata)
		checkNameAndTarget(t, p)
		if p.Invalid == nil {
			followThrough(t, p, seed)
		} else if !errors.Is(p.Invalid, scaling.ErrBadPolicy) {
			t.Errorf("not a bad policy: %v", p.Invalid)
		}
	})
}

// fuzzBase is what the fuzzer's entries are added to.
func fuzzBase(n uint8) values {
	bases := []values{
		{},
		jobs(nil),
		jobs(values{"behavior": "{}"}),
		jobs(values{"behavior": "{}", "shadow": "true"}),
		orders(values{"consumerGroup": "g"}),
		promql(nil),
		promql(values{"authModes": "custom,tls", "customAuthHeader": "A", "customAuthValue": "b"}),
		orders(values{"behavior": "{scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 15}]}}"}),
	}
	return bases[int(n)%len(bases)]
}

// promql is a good trigger of type prometheus with changes.
func promql(changes values) values {
	return with(values{"source": "prometheus", "serverAddress": "http://prom:9090", "query": "sum(jobs)", "threshold": "5"}, changes)
}

func checkNameAndTarget(t *testing.T, p *scaling.Policy) {
	t.Helper()
	if p.Metric == "" || strings.ContainsAny(p.Metric, "/%") || p.Metric == "." || p.Metric == ".." ||
		!utf8.ValidString(p.Metric) || strings.ContainsFunc(p.Metric, unicode.IsControl) {
		t.Errorf("illegal metric name %q", p.Metric)
	}
	if p.Target <= 0 {
		t.Errorf("illegal target %d", p.Target)
	}
}

// followThrough steps a policy through a random life, in which counts stay below the
// million that a policy may ask for.
func followThrough(t *testing.T, p *scaling.Policy, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	record := scaling.Record{}
	for range 20 {
		elapsed := time.Duration(random.Int64N(int64(10 * time.Minute)))
		now = now.Add(elapsed)
		result := scaling.Step(scaling.Input{
			Policy: p, Record: record, Observation: randomObservation(random), Now: now, Elapsed: elapsed,
			Outcomes: randomOutcomes(random, len(p.Triggers)),
			Blind:    random.IntN(8) == 0, Unsaved: random.IntN(8) == 0, Degraded: random.IntN(8) == 0,
		})
		d := result.Decision
		if errors.Is(d.Err, scaling.ErrBadPolicy) || errors.Is(d.Held, scaling.ErrBadPolicy) {
			t.Fatalf("a good policy was refused: %v, %v", d.Err, d.Held)
		}
		if (d.Err != nil || d.Held != nil) && !errors.Is(errors.Join(d.Err, d.Held), scaling.ErrNotRead) {
			t.Fatalf("an error of Step's own: %v, %v", d.Err, d.Held)
		}
		if d.Err == nil && (d.Replicas < 0 || d.Value < 0) {
			t.Fatalf("negative answer: %d replicas, value %d", d.Replicas, d.Value)
		}
		record = result.Record
	}
}

func randomObservation(random *rand.Rand) scaling.Observation {
	count := func() int32 { return int32(math.Pow(1e6, random.Float64())) - 1 }
	o := scaling.Observation{
		OpenLoop: random.IntN(4) == 0, ToZero: random.IntN(2) == 0,
		Native: random.IntN(3) == 0,
		Spec:   count(), Status: count(), Bounds: algorithm.Bounds{Min: 1 + count()/2, Max: 1 + count()},
	}
	if random.IntN(2) == 0 {
		o.HPA.Target = algorithm.Milli(1 + random.Int64N(1e12))
		o.HPA.Tolerance = algorithm.Tolerance{Down: random.Float64(), Up: random.Float64()}
	}
	return o
}

func randomOutcomes(random *rand.Rand, n int) []scaling.Outcome {
	if random.IntN(3) == 0 {
		return nil
	}
	outcomes := make([]scaling.Outcome, n)
	for i := range outcomes {
		switch random.IntN(6) {
		case 0:
			outcomes[i].Err = scaling.ErrNoData
		case 1:
			outcomes[i].Value = []float64{math.NaN(), math.Inf(1), -1, 1e300, math.SmallestNonzeroFloat64}[random.IntN(5)]
		case 2:
		default:
			outcomes[i].Value = math.Pow(1e12, random.Float64())
		}
	}
	return outcomes
}
