package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
)

// algorithmRows are the figures of the pure part.
func algorithmRows() []row {
	return []row{
		{
			Name: "reconciles", What: "random reconciles beside Kubernetes' own controller",
			Against: "Kubernetes' controller", Goal: "0 differences in 10,000,000", Apart: true, Run: reconcilesRow,
			How: "`make conformance`: the same random traces go to Kubernetes' own HorizontalController, over fake clients, and to `pkg/algorithm`. Replicas, writes, and the status and reason of every condition are compared.",
		},
		{
			Name: "encode", What: "values sent, beside the count that Kubernetes' calculator makes of them",
			Against: "Kubernetes' calculator", Goal: "every reachable count up to 300, 0 misses", Apart: true, Run: encodeRow,
			How: "Every count up to 300, wanted and current, for 5 targets and 6 pairs of tolerances. `make e2e` has a sample of the same on a real HPA.",
		},
		{
			Name: "step", What: "one decision, 300 s window", Against: "Kubernetes' own calculation",
			Goal: "≤ 1 µs, 0 allocations, flat in the number of samples, ≥ 10 × Kubernetes'", Run: stepRow,
			How:    "`BenchmarkStep` of `pkg/scaling` is the whole decision with activity, trace and conditions, for random readings and for the worst case, a slow decline of which the window keeps every sample; the figure is the slower of the two, over readings on file, as most requests are. The ratio is from `BenchmarkStep` of `test/conformance`: our reconcile beside the two parts of Kubernetes' that do the same, `GetExternalPerPodMetricReplicas` and `normalizeDesiredReplicasWithBehaviors`.",
			Missed: "See the details for which part is missed.",
		},
	}
}

var (
	comparedLine = regexp.MustCompile(`(\d+) reconciles in .*: (\d+) differences`)
	alongLine    = regexp.MustCompile(`the real controller (\S+) each, .*; ours (\S+)`)
	encodedLine  = regexp.MustCompile(`Encode of all counts to 300: (\d+) reachable, misses (\d+); (\d+) unreachable`)
)

func reconcilesRow(ctx context.Context, l *lab) (measured, error) {
	wanted := 10_000_000
	if l.short {
		wanted = 20_000
	}
	out, err := goTest(ctx, conformanceModule, "-v", "-timeout", "90m", "-run", "^TestReconciles$", ".", "-reconciles", fmt.Sprint(wanted))
	if err != nil {
		return measured{}, err
	}
	compared, err := found(out, comparedLine)
	along, alongErr := found(out, alongLine)
	if err := errors.Join(err, alongErr); err != nil {
		return measured{}, err
	}
	return measured{
		Figure:   fmt.Sprintf("%s differences in %s", compared[1], thousands(compared[0])),
		Baseline: along[0] + " each", Ratio: "ours " + along[1], Verdict: judge(compared[1] == "0"),
	}, nil
}

func encodeRow(ctx context.Context, l *lab) (measured, error) {
	how := "full"
	if l.short {
		how = "ends"
	}
	out, err := goTest(ctx, conformanceModule, "-v", "-timeout", "90m", "-run", "^TestEncode$", ".", "-encode", how)
	if err != nil {
		return measured{}, err
	}
	line, err := found(out, encodedLine)
	if err != nil {
		return measured{}, err
	}
	return measured{
		Figure:  fmt.Sprintf("%s misses in %s", line[1], thousands(line[0])),
		Verdict: judge(line[1] == "0"),
		Details: []string{thousands(line[2]) + " counts are out of reach behind a tolerance: held and told, with the YAML that cures it."},
	}, nil
}

// thousands puts commas into a number of digits: 10,000.
func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func stepRow(ctx context.Context, l *lab) (measured, error) {
	ours, err := l.benchmark(ctx, ".", "./pkg/scaling", "^BenchmarkStep$")
	if err != nil {
		return measured{}, err
	}
	beside, err := l.benchmark(ctx, conformanceModule, ".", "^BenchmarkStep$")
	if err != nil {
		return measured{}, err
	}
	short, allocations, err := slowestStep(ours, "onfile", 20)
	middle, more, err300 := slowestStep(ours, "onfile", 300)
	long, most, err3600 := slowestStep(ours, "onfile", 3600)
	fresh, copies, errFresh := slowestStep(ours, "fresh", 300)
	upstream, errUpstream := beside.get("Step/upstream-300", "ns/op")
	reconcile, errOurs := beside.get("Step/ours-300", "ns/op")
	if err := errors.Join(err, err300, err3600, errFresh, errUpstream, errOurs); err != nil {
		return measured{}, err
	}
	allocations = max(allocations, more, most)
	ratio := upstream / reconcile
	return measured{
		Figure:   fmt.Sprintf("%.0f ns, %.0f allocations", middle, allocations),
		Baseline: fmt.Sprintf("%.0f ns", upstream), Ratio: fmt.Sprintf("%.0f ×", ratio),
		// Flat: what 12 times the samples cost is not seen above the noise of a machine.
		Verdict: judge(middle <= 1000 && allocations == 0 && ratio >= 10 && long <= 1.5*middle),
		Details: []string{
			fmt.Sprintf("With windows of 20 s, 300 s and 3600 s, a sample each second: %.0f, %.0f and %.0f ns.", short, middle, long),
			fmt.Sprintf("With a new reading, which makes a new record and so copies its samples: %.0f ns, %.0f allocations.", fresh, copies),
			fmt.Sprintf("The reconcile alone takes %.0f ns where Kubernetes' two parts take %.0f ns.", reconcile, upstream),
		},
	}, nil
}

// slowestStep is the slowest decision of a kind with so many samples, in ns, and the most
// that any allocated.
func slowestStep(b benchmarks, kind string, samples int) (ns, allocations float64, err error) {
	for _, signal := range []string{"random", "decline"} {
		name := fmt.Sprintf("Step/%s-%d/%s", kind, samples, signal)
		took, errTook := b.get(name, "ns/op")
		made, errMade := b.get(name, "allocs/op")
		ns, allocations = math.Max(ns, took), math.Max(allocations, made)
		err = errors.Join(err, errTook, errMade)
	}
	return ns, allocations, err
}
