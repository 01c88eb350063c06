package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "write docs/performance.md from results.json anew")

// The page is what the kept results say.
func TestPageIsCurrent(t *testing.T) {
	kept, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := page(rows(), kept)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", pageFile)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what results.json says; run go test ./test/bench -update", pageFile)
	}
}

func TestKeptResultsAreOfRowsThatThereAre(t *testing.T) {
	kept, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, result := range kept {
		i := slices.IndexFunc(rows(), func(r row) bool { return r.Name == name })
		switch {
		case i < 0:
			t.Errorf("results.json has a row %q, which is no more; remove it", name)
		case result.Verdict == missed && rows()[i].Missed == "":
			t.Errorf("%s misses its goal, and the row does not say why", name)
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rows() {
		if names[r.Name] {
			t.Errorf("two rows are called %s", r.Name)
		}
		names[r.Name] = true
		if r.What == "" || r.Against == "" || r.How == "" || r.Run == nil {
			t.Errorf("row %s: what, against, how and run are needed", r.Name)
		}
	}
}

func TestPage(t *testing.T) {
	all := []row{
		{Name: "one", What: "this | that", Against: "nothing", Goal: "< 2", How: "By looking."},
		{Name: "two", What: "more", Against: "less", Goal: "< 3", How: "By waiting.", Missed: "It is slow."},
		{Name: "three", What: "most", Against: "least", How: "By asking."},
	}
	result := result{
		measured: measured{Figure: "1", Baseline: "4", Ratio: "0.25 ×", Verdict: met, Details: []string{"A detail."}},
		Machine:  machine{Processor: "Abacus", Cores: 2, MemoryGiB: 8, System: "linux/amd64", Go: "go1.26.0"},
		Commit:   "abc", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Seconds: 7, LoadBefore: 0.5, LoadAfter: 1,
	}
	slow := result
	slow.Commit = "def"
	slow.Figure, slow.Verdict, slow.Profile = "5", missed, "flat cum"
	got, err := page(all, results{"one": result, "two": slow})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n- 2 × Abacus, 8 GiB, linux/amd64, go1.26.0: commits abc, def\n\n| what",
		"\n| [this \\| that](#one) | 1 | nothing: 4 | 0.25 × | < 2 ✓ |\n| [more](#two) | 5 | less: 4 | 0.25 × | < 3 **missed** |\n| [most](#three) | not measured yet | least | – | – |\n",
		"\n## one\n\nBy looking.\n\n- A detail.\n- 30 November 2026, commit abc, 7 s; load average 0.5 before and 1.0 after, on 2 cores.\n",
		"\n**Missed.** It is slow.\n", "\n```\nflat cum\n```\n",
		"\n## three\n\nBy asking.\n\nNot measured yet.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "**Missed.**") != 1 {
		t.Errorf("a reason stands beside a goal that is met:\n%s", got)
	}
}

func TestResultsSurviveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	none, err := readResults(path)
	if err != nil || len(none) != 0 {
		t.Errorf("a file that does not exist: %v, %v", none, err)
	}
	want := results{"one": {
		measured: measured{Figure: "1", Verdict: met}, Commit: "abc",
		At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), LoadBefore: 0.5,
	}}
	if err := want.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readResults(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v; want an error that names it", err)
	}
}

func TestChoice(t *testing.T) {
	near, far := row{Name: "push"}, row{Name: "adapter", Apart: true}
	for _, test := range []struct {
		c         choice
		near, far bool
	}{
		{choice{}, true, false},
		{choice{apart: true}, true, true},
		{choice{only: regexp.MustCompile("adap")}, false, true},
		{choice{only: regexp.MustCompile("."), apart: true}, true, true},
	} {
		if got := [2]bool{test.c.wants(near), test.c.wants(far)}; got != [2]bool{test.near, test.far} {
			t.Errorf("%+v: %v", test.c, got)
		}
	}
}

func TestKEDAsRate(t *testing.T) {
	for _, test := range []struct {
		table timetable
		n     int
		want  float64 // calls per second
	}{
		{newTimetable(10_000, pollingInterval), 10_000, 3000},
		{newTimetable(1, pollingInterval), 1, 18.0 / 60},
		{atKEDAsRate(10_000), 10_000, 3000},
		{atKEDAsRate(100_000), 100_000, 3000},
	} {
		visits := map[int]int{}
		last := time.Duration(0)
		for _, v := range test.table.visits {
			visits[v.policy]++
			if v.at < last || v.at >= test.table.cycle {
				t.Fatalf("%d policies: a visit at %s after one at %s, in a cycle of %s", test.n, v.at, last, test.table.cycle)
			}
			last = v.at
		}
		for policy, n := range visits {
			if n != 3 {
				t.Fatalf("%d policies: policy %d is visited %d times, want once polled and twice asked for", test.n, policy, n)
			}
		}
		if got := float64(callsPerVisit*len(test.table.visits)) / test.table.cycle.Seconds(); got < test.want*0.999 || got > test.want*1.001 {
			t.Errorf("%d policies: %.2f calls/s, want %.2f", test.n, got, test.want)
		}
		if len(visits) != test.n {
			t.Errorf("%d of %d policies are visited", len(visits), test.n)
		}
	}
	if callsPerMinute != 18 {
		t.Errorf("%d calls a minute and policy, want 18", callsPerMinute)
	}
}

// Visits are made when they are due, however long earlier ones take, and a part of the
// time that begins in the middle goes on where the one before ended.
func TestTimetableIsKeptWhoeverWaits(t *testing.T) {
	table := timetable{cycle: 10 * time.Second, visits: []visit{{0, 0}, {1, time.Second}, {2, 7 * time.Second}}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var got []visit
		note := func(v visit, due time.Time) {
			late := time.Since(due)
			mu.Lock()
			got = append(got, visit{v.policy, time.Since(began)})
			mu.Unlock()
			if late != 0 {
				t.Errorf("policy %d is visited %s late", v.policy, late)
			}
			time.Sleep(time.Minute)
		}
		table.keep(t.Context(), 0, 12*time.Second, note)
		want := []visit{{0, 0}, {1, time.Second}, {2, 7 * time.Second}, {0, 10 * time.Second}, {1, 11 * time.Second}}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		got, began = nil, time.Now()
		table.keep(t.Context(), 12*time.Second, 21*time.Second, note)
		if want := []visit{{2, 5 * time.Second}, {0, 8 * time.Second}}; !slices.Equal(got, want) {
			t.Errorf("from 12 s on: got %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		table.keep(ctx, 0, time.Hour, func(visit, time.Time) { t.Error("a visit after the end") })
	})
}

func TestLatencies(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Millisecond)
	}
	if got, want := latenciesOf(took), (latencies{101 * time.Millisecond, 199 * time.Millisecond, 200 * time.Millisecond}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := latenciesOf(nil); got != (latencies{}) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 1 0 100")
	if err != nil || got != 1750*time.Millisecond {
		t.Errorf("got %s, %v; want 175 ticks of 10 ms", got, err)
	}
	for _, text := range []string{"", "42 (a) S 1 2", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x 25"} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	if _, err := cpuOf(os.Getpid()); err != nil {
		t.Error(err)
	}
	now, err := memoryOf(os.Getpid(), "VmRSS")
	most, mostErr := memoryOf(os.Getpid(), "VmHWM")
	if err != nil || mostErr != nil || now < 1 || most < now/2 {
		t.Errorf("memory %s and at most %s, %v, %v", now, most, err, mostErr)
	}
	if _, err := memoryOf(os.Getpid(), "VmNothing"); err == nil {
		t.Error("a field that there is not: no error")
	}
}

func TestParseCalls(t *testing.T) {
	before := parseCalls("# Commandstats\r\ncmdstat_evalsha:calls=10,usec=95,usec_per_call=9.50\r\ncmdstat_config|get:calls=1,usec=2\r\n")
	after := parseCalls("cmdstat_evalsha:calls=17,usec=95\r\ncmdstat_eval:calls=1,usec=95\r\ncmdstat_time:calls=3,usec=1\r\ncmdstat_type:calls=1,usec=2\r\n")
	c := after.since(before)
	if got, want := [4]int64{c.sent(), c.loads(), c.reads(), c.swaps()}, [4]int64{8, 3, 1, 4}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseBenchmarks(t *testing.T) {
	got := parseBenchmarks(`goos: linux
BenchmarkStep/fresh-300/random-2         	 1478430	       812.3 ns/op	       0 B/op	       0 allocs/op
BenchmarkStep/ratio-2  	1	 12.5 upstream/ours-300
PASS
`)
	want := benchmarks{
		"Step/fresh-300/random": {"ns/op": 812.3, "B/op": 0, "allocs/op": 0},
		"Step/ratio":            {"upstream/ours-300": 12.5},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := got.get("Step/ratio", "ns/op"); err == nil {
		t.Error("a unit that nothing printed: no error")
	}
}

// What other tests print is read by these patterns; here is what they print.
func TestPatterns(t *testing.T) {
	const adapters = `    throughput_test.go:150: 1 metrics, direct: 2.2 times the rate, 0.40 times the p99, 0.35 times the CPU
          Dashpot    4100/s  p50    3.40 ms  p99   12.00 ms  CPU  0.21 ms
          KEDA       1863/s  p50    8.00 ms  p99   30.00 ms  CPU  0.61 ms
`
	for _, test := range []struct {
		pattern *regexp.Regexp
		text    string
		want    []string
	}{
		{comparedLine, "x_test.go:1: 3 traces, 12000 reconciles in 4h0m0s of simulated time, 5 writes, 6 restarts, seed 7: 0 differences; 1s, 9 reconciles/s", []string{"12000", "0"}},
		{alongLine, "over 900 reconciles, one after the other: the real controller 61µs each, 16000/s; ours 1.2µs\n", []string{"61µs", "1.2µs"}},
		{encodedLine, "Encode of all counts to 300: 120 reachable, misses 0; 7 unreachable, 9 values tried in vain", []string{"120", "0", "7"}},
		{pokedLine, "external-push and poke                     min   61 ms, median   75 ms, max  101 ms", []string{"61", "75", "101"}},
		{pushedLine, "external-push                              min  161 ms, median  575 ms, max 1101 ms", []string{"161", "575", "1101"}},
		{polledLine, "KEDA's redis trigger, pollingInterval 1    min  161 ms, median  575 ms, max 1101 ms", []string{"161", "575", "1101"}},
		{comparison, adapters, []string{"1 metrics, direct", "2.2", "0.40", "0.35"}},
		{adapterLine, adapters, []string{"4100", "1863"}},
	} {
		got, err := found(test.text, test.pattern)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v; want %q", test.pattern, got, err, test.want)
		}
	}
	if _, err := found("nothing", comparedLine); err == nil {
		t.Error("no match: no error")
	}
	if got := thousands("10000000"); got != "10,000,000" {
		t.Errorf("thousands: %s", got)
	}
}
