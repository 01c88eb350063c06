package policy_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
)

// noPods are pods that nobody measures.
type noPods struct{}

func (noPods) Measure(context.Context, scaling.Scope, string, []algorithm.Metric) (algorithm.Workload, []algorithm.Reading, error) {
	return algorithm.Workload{}, nil, errors.New("not in this test")
}

// TestMetricType: metricType is a key of cpu and memory, and has no effect in the metadata
// of anything else. Its former name would turn 512 bytes into 512 percent.
func TestMetricType(t *testing.T) {
	const noEffect = "metricType: no effect in a trigger's metadata; set it on the trigger, beside type"
	const removed = "type: no longer a key, in KEDA either; set metricType"
	pods := func(changes values) values {
		return with(values{"scalerAddress": "dashpot:9090", "source": "cpu", "value": "60"}, changes)
	}
	for _, tt := range []struct {
		name              string
		metadata          values
		warnings, problem []string
	}{
		{"cpu", pods(nil), nil, nil},
		{"cpu with its own", pods(values{"metricType": "Utilization"}), nil, nil},
		{"memory with its own", pods(values{"source": "memory", "metricType": "AverageValue", "value": "512Mi"}), nil, nil},
		{"redis", jobs(values{"metricType": "AverageValue"}), []string{noEffect}, nil},
		{"shared", values{"scalerAddress": "dashpot:9090", "metric": "jobs", "metricType": "AverageValue"}, []string{noEffect}, nil},
		{"cpu by the former name", pods(values{"type": "AverageValue", "value": "512"}), nil, []string{removed}},
		{"memory by the former name", pods(values{"source": "memory", "type": "Utilization"}), nil, []string{removed}},
		{"cpu by both names", pods(values{"type": "Utilization", "metricType": "Utilization"}), nil, []string{removed}},
		{"redis by the former name", jobs(values{"type": "AverageValue"}), []string{"type: unknown key, ignored"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sources := source.New(source.Options{Pods: noPods{}})
			t.Cleanup(sources.Close)
			p := policy.Parser{Sources: sources}.Parse(tt.metadata)
			if !slices.Equal(p.Warnings, tt.warnings) {
				t.Errorf("warnings %q, want %q", p.Warnings, tt.warnings)
			}
			if tt.problem == nil && p.Invalid != nil {
				t.Errorf("not valid: %v", p.Invalid)
			}
			if tt.problem != nil {
				wantProblems(t, p, tt.problem)
			}
		})
	}
}
