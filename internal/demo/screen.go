package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

const (
	columns  = 60 // of the picture: one per unit
	width    = 80 // of a terminal that nobody has made larger
	logLines = 9
)

// screen draws the picture: in a terminal again and again in place, elsewhere as lines.
type screen struct {
	out     io.Writer
	live    bool
	header  string
	samples []sample
	told    int
}

// sample is the state at one moment.
type sample struct{ queue, asked, replicas int }

// draw adds a sample and shows the picture. changes is the whole history so far.
func (s *screen) draw(at time.Duration, units float64, now sample, d scaling.Decision, changes []change) {
	for len(s.samples) < min(columns, int(units)+1) {
		s.samples = append(s.samples, now)
	}
	if !s.live {
		s.tell(changes)
		return
	}
	var b strings.Builder
	b.WriteString(s.header + "\n\n")
	for _, row := range []struct {
		name string
		of   func(sample) int
	}{
		{"queue", func(s sample) int { return s.queue }},
		{"asked for", func(s sample) int { return s.asked }},
		{"replicas", func(s sample) int { return s.replicas }},
	} {
		fmt.Fprintf(&b, "%10s %3d  %s\n", row.name, row.of(now), s.spark(row.of))
	}
	fmt.Fprintf(&b, "\n%10s %s\n%10s %s\n\n", fmt.Sprintf("%.1f s", at.Seconds()), state(d), "why", why(d))
	for _, c := range changes[max(0, len(changes)-logLines):] {
		b.WriteString(c.String() + "\n")
	}
	_, _ = io.WriteString(s.out, inPlace(b.String()))
}

// inPlace draws over the last picture without clearing it first, which would flicker:
// every line is cut to the terminal's usual width and erases what stood behind it.
func inPlace(picture string) string {
	var b strings.Builder
	b.WriteString("\x1b[H")
	for line := range strings.Lines(picture) {
		runes := []rune(strings.TrimSuffix(line, "\n"))
		if len(runes) > width {
			runes = append(runes[:width-1], '…')
		}
		b.WriteString(string(runes) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// tell prints the changes that have not been told yet.
func (s *screen) tell(changes []change) {
	for ; s.told < len(changes); s.told++ {
		_, _ = fmt.Fprintln(s.out, changes[s.told])
	}
}

func (c change) String() string {
	return fmt.Sprintf("%7.2f s  %2d → %-2d  %s", c.at.Seconds(), c.from, c.to, c.why)
}

// state is what holds the count, with the time that is left.
func state(d scaling.Decision) string {
	word := "asleep"
	switch {
	case d.Awake:
		word = "awake"
	case d.Current > 0:
		word = "KEDA's cooldown"
	}
	for _, hold := range []struct {
		name  string
		until time.Time
	}{{"window", d.Stabilized.Until}, {"policy", d.Limited.Until}, {"cooldown", d.CooldownUntil}} {
		if left := hold.until.Sub(d.At); left > 0 {
			word += fmt.Sprintf("   %s %.0f s", hold.name, left.Seconds())
		}
	}
	return word
}

// spark draws a row of bars, each relative to the row's largest.
func (s *screen) spark(of func(sample) int) string {
	bars := []rune(" ▁▂▃▄▅▆▇█")
	largest := 1
	for _, x := range s.samples {
		largest = max(largest, of(x))
	}
	row := make([]rune, 0, columns)
	for _, x := range s.samples {
		row = append(row, bars[(of(x)*(len(bars)-1)+largest-1)/largest])
	}
	return string(row)
}
