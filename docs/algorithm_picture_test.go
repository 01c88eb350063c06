package docs_test

import (
	"fmt"
	"math"
	"strings"
)

// picture is a small chart of steps. Its colours are in the middle of the scale, so that
// they can be read on white and on black, and its lines differ in more than colour.
type picture struct {
	title  string
	xName  string // the unit that the last number of the axis has
	yName  string
	lines  []line
	lane   []span // what decided, under the chart
	xEvery float64
	yFrom  float64 // where the y axis begins
}

// line is drawn in steps: a y holds until the next x. The last x ends it.
type line struct {
	name   string
	points []point
	labels bool // write the y beside each step
}

type point struct{ x, y float64 }

// span is a stretch of the lane.
type span struct {
	from, to float64
	text     string
}

// Everything is in pixels.
const (
	pictureWidth = 640
	plotLeft     = 40
	plotRight    = pictureWidth - 20
	plotTop      = 34
	plotHeight   = 130
	plotBottom   = plotTop + plotHeight
	laneHeight   = 18
	glyph        = 6.2 // the width of a letter of 11 px
)

// The styles of the lines, in their order.
var strokes = []string{
	`stroke="#2f81f7" stroke-width="2.5"`,
	`stroke="#d4730e" stroke-width="1.8" stroke-dasharray="6 3"`,
}

var inks = []string{"#2f81f7", "#d4730e"}

const (
	ink  = "#7d7d7d"
	font = `font-family="system-ui, sans-serif" font-size="11"`
)

func (p picture) svg() string {
	height := plotBottom + 22
	if p.lane != nil {
		height += laneHeight + 4
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" %s fill="%s">`+"\n", pictureWidth, height, font, ink)
	fmt.Fprintf(&out, "<title>%s</title>\n", escape(p.title))
	p.axes(&out)
	for i := len(p.lines) - 1; i >= 0; i-- { // the first is the most important: on top
		p.drawLine(&out, i)
	}
	p.legend(&out)
	p.drawLane(&out)
	out.WriteString("</svg>\n")
	return out.String()
}

// span of all lines.
func (p picture) limits() (xMin, xMax, yMax float64) {
	xMin = math.Inf(1)
	for _, l := range p.lines {
		for _, at := range l.points {
			xMin, xMax, yMax = min(xMin, at.x), max(xMax, at.x), max(yMax, at.y)
		}
	}
	return xMin, xMax, yMax
}

func (p picture) x(value float64) float64 {
	xMin, xMax, _ := p.limits()
	return plotLeft + (value-xMin)/(xMax-xMin)*(plotRight-plotLeft)
}

// y leaves room for a label above the highest line.
func (p picture) y(value float64) float64 {
	_, _, yMax := p.limits()
	return plotBottom - (value-p.yFrom)/((yMax-p.yFrom)*1.12)*plotHeight
}

func (p picture) axes(out *strings.Builder) {
	xMin, xMax, yMax := p.limits()
	step := nice((yMax - p.yFrom) / 3)
	for v := p.yFrom; v <= yMax; v += step {
		fmt.Fprintf(out, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-opacity=".3"/>`, plotLeft, plotRight, p.y(v), p.y(v), ink)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft-6, p.y(v)+4, number(v))
	}
	bottom := plotBottom + 15
	if p.lane != nil {
		bottom += laneHeight + 4
	}
	for v := xMin; v <= xMax; v += p.xEvery {
		text := number(v)
		if v+p.xEvery > xMax {
			text += " " + p.xName
		}
		anchor := "middle"
		if p.x(v) > plotRight-20 {
			anchor = "end"
		}
		fmt.Fprintf(out, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-opacity=".6"/>`, p.x(v), p.x(v), plotBottom, plotBottom+4, ink)
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", p.x(v), bottom, anchor, text)
	}
}

func (p picture) drawLine(out *strings.Builder, i int) {
	l := p.lines[i]
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.1f", p.x(l.points[0].x), p.y(l.points[0].y))
	for _, at := range l.points[1:] {
		fmt.Fprintf(&path, "H%.1fV%.1f", p.x(at.x), p.y(at.y))
	}
	fmt.Fprintf(out, `<path d="%s" fill="none" %s/>`+"\n", path.String(), strokes[i])
	if l.labels {
		p.label(out, i)
	}
}

// label writes a line's y beside each of its steps: above it, or below where another
// line is close above, and not where an earlier line has written the same.
func (p picture) label(out *strings.Builder, i int) {
	free := 0.0 // where the last label ends
	for k, at := range p.lines[i].points {
		if k > 0 && p.lines[i].points[k-1].y == at.y {
			continue
		}
		text, x, y := number(at.y), p.x(at.x)+3, p.y(at.y)-5
		repeated := false
		for j, other := range p.lines {
			above := p.y(at.y) - p.y(other.at(at.x))
			repeated = repeated || j < i && above == 0
			if above > 0 && above < 26 {
				y = p.y(at.y) + 13
			}
		}
		width := glyph * float64(len(text))
		if repeated || x < free || x+width > plotRight+16 {
			continue
		}
		free = x + width
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" fill="%s" font-weight="600">%s</text>`+"\n", x, y, inks[i], text)
	}
}

// at is the y that holds at x.
func (l line) at(x float64) float64 {
	y := l.points[0].y
	for _, p := range l.points {
		if p.x <= x {
			y = p.y
		}
	}
	return y
}

func (p picture) legend(out *strings.Builder) {
	x := float64(plotLeft)
	for i, l := range p.lines {
		fmt.Fprintf(out, `<path d="M%.1f 14h22" fill="none" %s/>`, x, strokes[i])
		fmt.Fprintf(out, `<text x="%.1f" y="18">%s</text>`+"\n", x+28, escape(l.name))
		x += 28 + glyph*float64(len([]rune(l.name))) + 22
	}
	fmt.Fprintf(out, `<text x="%d" y="18" text-anchor="end">%s</text>`+"\n", plotRight, escape(p.yName))
}

func (p picture) drawLane(out *strings.Builder) {
	for i, s := range p.lane {
		left, right := p.x(s.from), p.x(s.to)
		if s.text == "" {
			continue
		}
		opacity := []string{".16", ".3"}[i%2]
		fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="%s"/>`, left, plotBottom+6, right-left, laneHeight-2, ink, opacity)
		if right-left > glyph*float64(len(s.text)) {
			fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, (left+right)/2, plotBottom+18, escape(s.text))
		}
		out.WriteString("\n")
	}
}

// nice is a step of 1, 2 or 5 times a power of ten, at least 1 and not below v.
func nice(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(max(v, 1)))))
	for _, step := range []float64{1, 2, 5} {
		if step*power >= v {
			return step * power
		}
	}
	return 10 * power
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// pods is the line of what runs, asked the one of what the metrics want; it holds where
// they do not decide.
func (r *run) pods(name string) line {
	return r.line(name, func(s synced, _ float64) float64 { return float64(s.outcome.Replicas) })
}

func (r *run) askedFor() line {
	return r.line("asked for", func(s synced, before float64) float64 {
		if s.asked < 0 {
			return before
		}
		return float64(s.asked)
	})
}

func (r *run) line(name string, of func(s synced, before float64) float64) line {
	l := line{name: name, labels: true, points: []point{{0, float64(r.syncs[0].from)}}}
	for _, s := range r.syncs {
		l.points = append(l.points, point{s.at.Seconds(), of(s, l.points[len(l.points)-1].y)})
	}
	return l
}

// lane is what decided, for as long as it did, in a word.
func (r *run) lane() []span {
	var lane []span
	for i, s := range r.syncs {
		to := s.at + syncPeriod
		if i == len(r.syncs)-1 {
			to = s.at
		}
		text := shortly(s.why)
		if n := len(lane); n > 0 && lane[n-1].text == text {
			lane[n-1].to = to.Seconds()
			continue
		}
		lane = append(lane, span{s.at.Seconds(), to.Seconds(), text})
	}
	return lane
}

// shortly is a why in a word or two.
func shortly(why string) string {
	for _, is := range []struct{ in, short string }{
		{"Stabilized", "window"},
		{"ScaleUpLimit", "policy"},
		{"ScaleDownLimit", "policy"},
		{"TooFewReplicas", "minReplicas"},
		{"TooManyReplicas", "maxReplicas"},
		{"above maxReplicas", "maxReplicas"},
		{"tolerance", "tolerance"},
		{"Failed", "no reading"},
		{"ScalingDisabled", "disabled"},
	} {
		if strings.Contains(why, is.in) {
			return is.short
		}
	}
	return why
}

// picture is the one of one run.
func (r *run) picture(title string) picture {
	return picture{
		title: title, xName: "s", yName: "pods", xEvery: 60 * math.Ceil(r.until.Seconds()/60/8),
		lines: []line{r.pods("pods"), r.askedFor()}, lane: r.lane(),
	}
}

// together is the picture of several runs.
func together(title string, runs []*run, names ...string) picture {
	p := runs[0].picture(title)
	p.lines, p.lane = nil, nil
	for i, r := range runs {
		p.lines = append(p.lines, r.pods(names[i]))
	}
	return p
}

// curve is a count for each x.
func curve(name string, xs []float64, count func(x float64) int32) line {
	l := line{name: name}
	for _, x := range xs {
		l.points = append(l.points, point{x, float64(count(x))})
	}
	return l
}

// numbers are the whole ones from first to last.
func numbers(first, last int) []float64 {
	var xs []float64
	for x := first; x <= last; x++ {
		xs = append(xs, float64(x))
	}
	return xs
}

// inWords are the lines for those who do not see them.
func (p picture) inWords() string {
	var lines []string
	for _, l := range p.lines {
		steps := fmt.Sprintf("Line %q: %s", l.name, number(l.points[0].y))
		for i, at := range l.points {
			if i > 0 && l.points[i-1].y != at.y {
				steps += fmt.Sprintf(", %s from %s %s", number(at.y), number(at.x), p.xName)
			}
		}
		lines = append(lines, steps)
	}
	return p.title + ". " + strings.Join(lines, ". ") + "."
}
