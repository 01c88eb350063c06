package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// clusterRows are the figures that need a control plane: a real API server, HPA controller
// and KEDA. Its programs are built before the first of them.
func clusterRows() []row {
	return []row{
		{
			Name: "replica-one", What: "push to replica 1 on a real control plane", Against: "KEDA's own redis trigger, pollingInterval 1",
			Goal: "< 0.3 s with a poke", Apart: true, Run: replicaOne,
			How:    "`TestSync2s/push to replica 1` of `test/e2e`, median of 10: from RPUSH until the Deployment's `spec.replicas` is 1.",
			Missed: "See the load average: the API server, its etcd, the HPA controller and KEDA share the machine.",
		},
		{
			Name: "adapter", What: "adapter, one metric, 16 connections", Against: "KEDA's adapter for the same list",
			Goal: "≥ 3 × its requests/s", Apart: true, Run: adapterRow,
			How:    "`test/native/throughput`: at their own addresses and through the API server, in turns. The clients and the control plane share the machine.",
			Missed: missedAdapter,
		},
	}
}

var (
	pokedLine  = regexp.MustCompile(`external-push and poke +min +(\d+) ms, median +(\d+) ms, max +(\d+) ms`)
	pushedLine = regexp.MustCompile(`external-push +min +(\d+) ms, median +(\d+) ms, max +(\d+) ms`)
	polledLine = regexp.MustCompile(`KEDA's redis trigger, pollingInterval 1 +min +(\d+) ms, median +(\d+) ms, max +(\d+) ms`)
)

func replicaOne(ctx context.Context, _ *lab) (measured, error) {
	out, err := goTest(ctx, ".", "-tags", "e2e", "-v", "-timeout", "60m", "-run", "^TestSync2s$/^push_to_replica_1$", "./test/e2e")
	if err != nil {
		return measured{}, err
	}
	var medians [3]float64
	var details []string
	for i, line := range []struct {
		name    string
		pattern *regexp.Regexp
	}{{"With a poke", pokedLine}, {"Without", pushedLine}, {"KEDA's own", polledLine}} {
		values, err := found(out, line.pattern)
		if err != nil {
			return measured{}, err
		}
		medians[i], _ = strconv.ParseFloat(values[1], 64) // the pattern has digits only
		details = append(details, fmt.Sprintf("%s: at least %s ms, median %s ms, at most %s ms.", line.name, values[0], values[1], values[2]))
	}
	return measured{
		Figure:   fmt.Sprintf("%.0f ms with a poke, %.0f ms without", medians[0], medians[1]),
		Baseline: fmt.Sprintf("%.0f ms", medians[2]), Ratio: fmt.Sprintf("%.2f ×", medians[0]/medians[2]),
		Verdict: judge(medians[0] < 300), Details: details,
	}, nil
}

// The throughput test prints a comparison, then a line for each adapter.
var (
	comparison  = regexp.MustCompile(`(?m): ((?:1|1000) metrics, [^\n]*): ([\d.]+) times the rate, ([\d.]+) times the p99, ([\d.]+) times the CPU`)
	adapterLine = regexp.MustCompile(`(?s): 1 metrics, direct: .*?\n\s+Dashpot +(\d+)/s .*?\n\s+KEDA +(\d+)/s`)
)

func adapterRow(ctx context.Context, l *lab) (measured, error) {
	turn := "5s"
	if l.short {
		turn = "1s"
	}
	out, err := goTest(ctx, ".", "-tags", "e2e", "-v", "-timeout", "60m", "./test/native/throughput", "-turn", turn)
	if err != nil {
		return measured{}, err
	}
	rates, err := found(out, adapterLine)
	first, firstErr := found(out, comparison)
	if err := errors.Join(err, firstErr); err != nil {
		return measured{}, err
	}
	ratio, err := strconv.ParseFloat(first[1], 64)
	if err != nil {
		return measured{}, err
	}
	m := measured{
		Figure: rates[0] + " requests/s", Baseline: rates[1] + " requests/s",
		Ratio: first[1] + " ×", Verdict: judge(ratio >= 3),
	}
	for _, line := range comparison.FindAllStringSubmatch(out, -1) {
		m.Details = append(m.Details, fmt.Sprintf("%s: %s × the rate, %s × the p99, %s × the CPU.", line[1], line[2], line[3], line[4]))
	}
	return m, nil
}
