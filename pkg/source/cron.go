package source

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a policy's zone is known wherever this table is, in an image without files too

	"github.com/robfig/cron/v3"

	"github.com/dashpot-project/dashpot/pkg/metadata"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// cronInterval is how late a window may begin or end by default. A look at the clock
// costs next to nothing; a new reading is a record to store.
const cronInterval = 5 * time.Second

const cronFormat = "five fields of cron: minute, hour, day of month, month, day of week"

var (
	cronStartKey = metadata.Key{
		Name: "start", Required: true, Format: cronFormat,
		Meaning: "When the window begins, by the zone's clock.",
	}
	cronEndKey = metadata.Key{
		Name: "end", Required: true, Format: cronFormat,
		Meaning: "When the window ends. It has to differ from start.",
	}
	timezoneKey = metadata.Key{
		Name: "timezone", Default: "UTC", Format: "a name from the IANA time zone database, such as Europe/London, as it is spelled there",
		Meaning: "The zone whose clock and summer time count.",
	}
	desiredReplicasKey = metadata.Key{
		Name: "desiredReplicas", Kind: metadata.Whole, Range: metadata.Range{Min: 1, Max: 1e6}, Required: true,
		Meaning: "How many replicas to ask for inside of the window. Outside of it none are asked for.",
	}
)

// cronKind is KEDA's type cron. Its reading is a count of replicas, and so no tolerance
// applies to it: of 89 replicas wanted, 88 are one too few.
func cronKind() kind {
	return kind{
		name:     "cron",
		keys:     []metadata.Key{cronStartKey, cronEndKey, timezoneKey, desiredReplicasKey},
		interval: cronInterval,
		parse: func(m *metadata.Map, _ []byte) (scaling.Trigger, string) {
			const one = 1000
			w := parseWindow(m)
			return scaling.Trigger{Target: one, Counts: true, Query: w}, w.metric()
		},
	}
}

// cronWindow is a window of time that comes again and again, and a count inside of it.
type cronWindow struct {
	start, end cron.SpecSchedule
	// startText, endText and zoneText are what was written.
	startText, endText, zoneText string
	zone                         *time.Location
	desired                      int32
	// name is the window, asks the window and the count.
	name, asks string
}

var _ scaling.Detailed = (*cronWindow)(nil)

// Server is one for all windows: the clock of this process.
func (w *cronWindow) Server() string { return "clock" }

// String names the window, as in "cron 0 9 * * 1-5 to 0 17 * * 1-5 Europe/London".
// desiredReplicas is no part of it, as a threshold is none of other names: what is
// remembered by this name outlives an edit of the count.
func (w *cronWindow) String() string { return w.name }

// Asks adds desiredReplicas to String.
func (w *cronWindow) Asks() string { return w.asks }

// metric is the name that KEDA gives the metric, but for the characters that it replaces
// in all names.
func (w *cronWindow) metric() string {
	letters := strings.NewReplacer(" ", "", "*", "x", "/", "Sl", "?", "Qm", ",", "Cm")
	return "cron-" + w.zoneText + "-" + letters.Replace(w.startText) + "-" + letters.Replace(w.endText)
}

// parseWindow never returns nil.
func parseWindow(m *metadata.Map) *cronWindow {
	w := &cronWindow{zoneText: m.Text(timezoneKey), desired: m.Whole(desiredReplicasKey)}
	w.start, w.startText = parseCron(m, cronStartKey)
	w.end, w.endText = parseCron(m, cronEndKey)
	if w.start == w.end && w.startText != "" && w.endText != "" {
		m.Problem(cronEndKey, "the same moments as start, which would make a window without an end")
	}
	zone, err := time.LoadLocation(w.zoneText)
	if err != nil || zone == time.Local { // "Local" is that of whichever replica answers
		m.Problem(timezoneKey, "")
		zone = time.UTC
	}
	w.zone = zone
	w.name = fmt.Sprintf("cron %s to %s %s", w.startText, w.endText, oneLine(w.zoneText))
	w.asks = fmt.Sprintf("%s for %d", w.name, w.desired)
	return w
}

// parseCron reads one expression, and returns it with single spaces; or empty, and what
// is wrong is reported.
func parseCron(m *metadata.Map, k metadata.Key) (cron.SpecSchedule, string) {
	text := strings.Join(strings.Fields(m.Text(k)), " ")
	if text == "" { // which is reported
		return cron.SpecSchedule{}, ""
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		m.Problem(k, "the zone belongs into timezone")
		return cron.SpecSchedule{}, ""
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		m.Problem(k, shortened(err.Error()))
		return cron.SpecSchedule{}, ""
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	if !ok || spec.Next(leapYear).IsZero() {
		m.Problem(k, "this never happens")
		return cron.SpecSchedule{}, ""
	}
	return *spec, text
}

// leapYear has every date that there is, and cron looks ahead for five years.
var leapYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// at is the outcome at a moment, by KEDA's rule: the window is open while its next end
// comes before its next start, or with it. What the zone's clock skips or repeats is up
// to cron: a time that does not exist is not one, and a time that exists twice is two.
//
// Both expressions are asked about one moment. KEDA looks at its clock for each, and so
// opens a window of which start and end are at the same time, for an instant.
func (w *cronWindow) at(moment time.Time) scaling.Outcome {
	moment = moment.In(w.zone)
	start, end := w.start.Next(moment), w.end.Next(moment)
	if start.Before(end) {
		return scaling.Outcome{Note: "from " + w.show(start)}
	}
	return scaling.Outcome{Value: float64(w.desired), Note: "until " + w.show(end)}
}

// show names a moment. It stays the same until that has come.
func (w *cronWindow) show(moment time.Time) string {
	return moment.Format("Mon 2006-01-02 15:04 ") + w.zoneText
}

// cronClock reads windows by the clock of this process.
type cronClock struct{}

// read looks at the clock once, so that of two windows where one begins when the other
// ends, exactly one is open.
func (cronClock) read(_ context.Context, windows []*cronWindow) ([]scaling.Outcome, error) {
	now := time.Now()
	outcomes := make([]scaling.Outcome, len(windows))
	for i, w := range windows {
		outcomes[i] = w.at(now)
	}
	return outcomes, nil
}

func (cronClock) close() {}
