package source

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// window parses a cron trigger of 5 replicas.
func window(tb testing.TB, zone, start, end string) *cronWindow {
	tb.Helper()
	return query(tb, newTable(tb), "cron", values{"timezone": zone, "start": start, "end": end, "desiredReplicas": "5"}).(*cronWindow)
}

// office and night are C42's: together they are the whole week.
func office(tb testing.TB) *cronWindow {
	tb.Helper()
	return window(tb, "Europe/London", "0 9 * * 1-5", "0 17 * * 1-5")
}

func night(tb testing.TB) *cronWindow {
	tb.Helper()
	return window(tb, "Europe/London", "0 17 * * 1-5", "0 9 * * 1-5")
}

// TestWindows: inside of its window a trigger reads desiredReplicas, outside 0.
func TestWindows(t *testing.T) {
	tests := []struct {
		name   string
		window *cronWindow
		open   string // moments at which it is open
		shut   string
	}{
		{
			"C18: working hours", window(t, "Asia/Makassar", "0 10 * * 1-5", "30 15 * * 1-5"),
			"2026-01-07T10:00:00+08:00 2026-01-07T15:29:59+08:00",
			"2026-01-07T09:59:59+08:00 2026-01-07T15:30:00+08:00 2026-01-10T12:00:00+08:00",
		},
		{
			"C33: the last day of a month", window(t, "Asia/Shanghai", "0 8 28,29,30,31 * *", "0 20 1 * *"),
			"2022-10-31T08:00:00+08:00 2022-10-31T08:00:01+08:00 2022-11-01T00:00:00+08:00 2022-11-01T19:59:59+08:00",
			"2022-10-28T07:59:59+08:00 2022-10-28T08:00:00+08:00 2022-10-28T08:00:01+08:00 2022-10-29T08:00:00+08:00 " +
				"2022-10-30T08:00:00+08:00 2022-10-30T23:59:59+08:00 2022-10-31T07:59:59+08:00 2022-11-01T20:00:00+08:00 2022-11-01T20:00:01+08:00",
		},
		{
			"C34 a: EST has no summer time", window(t, "EST", "10 7 * * *", "30 7 * * *"),
			"2024-04-12T12:15:00Z", "2024-04-12T11:15:00Z 2024-04-12T12:31:00Z",
		},
		{
			"C34 a: New York has", window(t, "America/New_York", "10 7 * * *", "30 7 * * *"),
			"2024-04-12T11:15:00Z", "2024-04-12T12:15:00Z 2024-04-12T12:31:00Z",
		},
		{"C34 b: UTC by default", window(t, "", "0 8 * * *", "0 9 * * *"), "2024-04-12T08:30:00Z", "2024-04-12T09:30:00Z"},
		{
			"C34 d: the start is skipped in spring", window(t, "America/New_York", "30 2 * * *", "0 6 * * *"),
			"2026-03-07T05:59:00-05:00 2026-03-07T12:00:00-05:00 2026-03-08T01:59:00-05:00 2026-03-08T05:59:00-04:00",
			"2026-03-07T02:29:00-05:00 2026-03-08T06:01:00-04:00 2026-03-09T02:29:00-04:00",
		},
		{
			"C34 e: the start comes twice in autumn", window(t, "America/New_York", "30 1 * * *", "30 2 * * *"),
			"2026-11-01T06:31:00Z 2026-11-01T07:15:00Z", "2026-11-01T05:31:00Z 2026-11-01T06:15:00Z 2026-11-01T07:31:00Z",
		},
		{
			"C34 e: the end comes twice in autumn", window(t, "America/New_York", "30 0 * * *", "30 1 * * *"),
			"2026-11-01T04:31:00Z 2026-11-01T05:29:00Z 2026-11-01T06:29:00Z", "2026-11-01T04:29:00Z 2026-11-01T06:31:00Z",
		},
		{
			"C34 f: the hour that is skipped", window(t, "America/Los_Angeles", "0 2 * * *", "0 4 * * *"),
			"2014-03-09T01:59:00-08:00 2014-03-09T03:59:00-07:00", "2014-03-09T04:01:00-07:00",
		},
		{
			"C34: five minutes", window(t, "Asia/Kolkata", "30 20 * * *", "35 20 * * *"),
			"2025-09-01T20:30:00+05:30 2025-09-01T20:34:59+05:30", "2025-09-01T20:29:59+05:30 2025-09-01T20:35:00+05:30",
		},
		{
			"C42 a: the office", office(t),
			"2026-10-30T16:59:30Z 2026-11-02T09:00:00Z 2026-11-02T09:00:30Z", "2026-10-30T17:00:00Z 2026-10-31T12:00:00Z 2026-11-01T12:00:00Z 2026-11-02T08:59:30Z",
		},
		{
			"C42 a: night and weekend", night(t),
			"2026-10-30T17:00:00Z 2026-10-31T12:00:00Z 2026-11-01T12:00:00Z 2026-11-02T08:59:30Z", "2026-10-30T16:59:30Z 2026-11-02T09:00:00Z 2026-11-02T09:00:30Z",
		},
		{
			"start and end meet: open until both", window(t, "UTC", "0 6,12 * * *", "0 12 * * *"),
			"2026-01-05T06:00:00Z 2026-01-05T11:59:59Z", "2026-01-05T05:59:59Z 2026-01-05T12:00:00Z",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, moment := range strings.Fields(tt.open) {
				if o := tt.window.at(instant(t, moment)); o.Value != 5 || o.Err != nil || !strings.HasPrefix(o.Note, "until ") {
					t.Errorf("%s: %+v, want 5 until some moment", moment, o)
				}
			}
			for _, moment := range strings.Fields(tt.shut) {
				if o := tt.window.at(instant(t, moment)); o.Value != 0 || o.Err != nil || !strings.HasPrefix(o.Note, "from ") {
					t.Errorf("%s: %+v, want 0, and 5 from some moment", moment, o)
				}
			}
		})
	}
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return moment
}

// TestC42OneOfTwo: at every second around a change exactly one of two windows is open,
// where one begins when the other ends.
func TestC42OneOfTwo(t *testing.T) {
	day, other := office(t), night(t)
	for _, change := range []string{"2026-10-30T17:00:00Z", "2026-11-02T09:00:00Z"} {
		for offset := -2 * time.Second; offset <= 2*time.Second; offset += 100 * time.Millisecond {
			moment := instant(t, change).Add(offset)
			if sum := day.at(moment).Value + other.at(moment).Value; sum != 5 {
				t.Errorf("%v: the sum of both is %v, want 5", moment, sum)
			}
		}
	}
}

// TestWindowNotes: a note stays the same while nothing changes, because a status with
// another text is a write.
func TestWindowNotes(t *testing.T) {
	w := office(t)
	tests := []struct{ first, last, note string }{
		{"2026-10-30T09:00:00Z", "2026-10-30T16:59:59Z", "until Fri 2026-10-30 17:00 Europe/London"},
		{"2026-10-30T17:00:00Z", "2026-11-02T08:59:59Z", "from Mon 2026-11-02 09:00 Europe/London"},
		{"2026-07-01T08:00:00Z", "2026-07-01T15:59:59Z", "until Wed 2026-07-01 17:00 Europe/London"},
	}
	for _, tt := range tests {
		for moment := instant(t, tt.first); !moment.After(instant(t, tt.last)); moment = moment.Add(7 * time.Second) {
			if got := w.at(moment).Note; got != tt.note {
				t.Fatalf("%v: %q, want %q", moment, got, tt.note)
			}
		}
	}
}

// TestCronReadsTheClock: all windows of one read are of one moment of the process's clock.
func TestCronReadsTheClock(t *testing.T) {
	// The clock of the test begins on Saturday 2000-01-01 at 00:00 UTC.
	windows := []*cronWindow{office(t), night(t)}
	synctest.Test(t, func(t *testing.T) {
		for _, want := range []struct {
			sleep time.Duration
			open  string
		}{{0, "[0 5]"}, {57 * time.Hour, "[5 0]"}, {8*time.Hour - time.Nanosecond, "[5 0]"}, {time.Nanosecond, "[0 5]"}} {
			time.Sleep(want.sleep)
			outcomes, err := cronClock{}.read(t.Context(), windows)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint([]float64{outcomes[0].Value, outcomes[1].Value}); got != want.open {
				t.Errorf("%v: office and night read %s, want %s", time.Now(), got, want.open)
			}
		}
	})
}

// TestCronInTheTable: the table reads what it has parsed.
func TestCronInTheTable(t *testing.T) {
	table := newTable(t)
	always := query(t, table, "cron", values{"start": "* * * * *", "end": "0 0 29 2 *", "desiredReplicas": "3"})
	never := query(t, table, "cron", values{"start": "0 0 29 2 *", "end": "* * * * *", "desiredReplicas": "3"})
	for i, o := range table.Read(t.Context(), []scaling.Query{always, never}) {
		if o.Err != nil || o.Note == "" || (o.Value != 0 && o.Value != 3) {
			t.Errorf("window %d: %+v", i, o)
		}
	}
}

func TestCronNames(t *testing.T) {
	trigger, name, m := parse(newTable(t), "cron", values{
		"timezone": "Europe/London", "start": " 0 9,10  * * 1-5", "end": "*/5 17 ? * 1-5", "desiredReplicas": "4",
	})
	const metric, title = "cron-Europe/London-09Cm10xx1-5-xSl517Qmx1-5", "cron 0 9,10 * * 1-5 to */5 17 ? * 1-5 Europe/London"
	if m.Err() != nil || name != metric || trigger.Query.String() != title {
		t.Errorf("%v, metric %q, query %q; want %q, %q", m.Err(), name, trigger.Query, metric, title)
	}
	if trigger.Target != algorithm.Milli(1000) || trigger.Activation != 0 || !trigger.Counts || trigger.Costly {
		t.Errorf("trigger %+v, want target 1, a count, not costly", trigger)
	}
}

func TestCronProblems(t *testing.T) {
	const fields = "must be five fields of cron: minute, hour, day of month, month, day of week"
	const zones = "must be a name from the IANA time zone database, such as Europe/London, as it is spelled there"
	const counts = "must be a whole number from 1 to 1000000"
	tests := []struct {
		changes values
		problem string
	}{
		{values{"timezone": "asia/kolkata"}, `timezone "asia/kolkata": ` + zones},
		{values{"timezone": "UTC+2"}, `timezone "UTC+2": ` + zones},
		{values{"timezone": "Local"}, `timezone "Local": ` + zones},
		{values{"timezone": "../etc/passwd"}, `timezone "../etc/passwd": ` + zones},
		{values{"start": "31 * * * *", "end": "31 * * * * "}, `end "31 * * * *": ` + fields + " (the same moments as start, which would make a window without an end)"},
		{values{"start": "0 8 * * *", "end": "00  8 ? * 0-6"}, ""},
		{values{"start": "0 8 * * *", "end": "00  8 * * ?"}, `end "00  8 * * ?": ` + fields + " (the same moments as start, which would make a window without an end)"},
		{values{"start": "0 8 L * *"}, `start "0 8 L * *": ` + fields + ` (failed to parse int from L: strconv.Atoi: parsing "L": invalid syntax)`},
		{values{"start": "@daily"}, `start "@daily": ` + fields + " (parser does not accept descriptors: @daily)"},
		{values{"start": "0 8 * *"}, `start "0 8 * *": ` + fields + " (expected exactly 5 fields, found 4: [0 8 * *])"},
		{values{"start": "0 0 30 2 *"}, `start "0 0 30 2 *": ` + fields + " (this never happens)"},
		{values{"start": "0 0 29 2 *"}, ""},
		{values{"start": "TZ=UTC"}, `start "TZ=UTC": ` + fields + " (the zone belongs into timezone)"},
		{values{"end": "CRON_TZ=Asia/Tokyo 0 8 * * *"}, `end "CRON_TZ=Asia/Tokyo 0 8 * * *": ` + fields + " (the zone belongs into timezone)"},
		{values{"start": ""}, "start is missing: " + fields},
		{values{"desiredReplicas": ""}, "desiredReplicas is missing: " + counts},
		{values{"desiredReplicas": "0"}, `desiredReplicas "0": ` + counts},
		{values{"desiredReplicas": "-3"}, `desiredReplicas "-3": ` + counts},
		{values{"desiredReplicas": "2.5"}, `desiredReplicas "2.5": ` + counts},
	}
	for _, tt := range tests {
		m := values{"timezone": "Asia/Kolkata", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "3"}
		for key, value := range tt.changes {
			m[key] = value
		}
		_, _, parsed := parse(newTable(t), "cron", m)
		problem := ""
		if err := parsed.Err(); err != nil {
			problem = err.Error()
		}
		if problem != tt.problem {
			t.Errorf("%v:\n%s\nwant\n%s", tt.changes, problem, tt.problem)
		}
	}
}

// TestC34ZonesAreInThePrograms: the images of both have no files but the program.
func TestC34ZonesAreInThePrograms(t *testing.T) {
	for _, program := range []string{"scaler", "adapter"} {
		list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/dashpot-project/dashpot/cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(list), "\ntime/tzdata\n") {
			t.Errorf("%s has no time zones", program)
		}
	}
}

// FuzzCron: what parses has a value and a note at every moment.
func FuzzCron(f *testing.F) {
	f.Add("Europe/London", "0 9 * * 1-5", "0 17 * * 1-5", int64(1793345970))
	f.Add("America/Sao_Paulo", "30 0 */2 1-12/3 *", "59 23 29 2 ?", int64(1541300400))
	f.Add("Australia/Lord_Howe", "*/1 2 * * SUN", "45 1 1 jan 6", int64(-1))
	f.Add("UTC", "TZ=", "@every 1h", int64(1)<<40)
	table := newTable(f)
	f.Fuzz(func(t *testing.T, zone, start, end string, seconds int64) {
		trigger, _, m := parse(table, "cron", values{"timezone": zone, "start": start, "end": end, "desiredReplicas": "5"})
		w := trigger.Query.(*cronWindow)
		if strings.ContainsAny(w.String(), "\r\n") {
			t.Errorf("a name of several lines: %q", w)
		}
		if m.Err() != nil {
			return
		}
		const year2090 = 3_786_912_000
		if o := w.at(time.Unix(seconds%year2090, 0)); o.Err != nil || o.Note == "" || (o.Value != 0 && o.Value != 5) || strings.Contains(o.Note, " 0001-") {
			t.Errorf("%s at %d: %+v", w, seconds, o)
		}
	})
}
