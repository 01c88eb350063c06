package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const tuningFile = "tuning.md"

// recipe is a section of tuning.md with what the workload of its picture goes through.
type recipe struct {
	name, heading, title string
	each                 float64 // entries per pod
	start, until         time.Duration
	queue                []reads
	// claim says in numbers what the story shows.
	claim func(s *story) string
}

func recipes() []recipe {
	const day = 24 * time.Hour
	return []recipe{
		{
			name: "bursty", heading: "## Bursty queue", title: "Bursts, three minutes apart", each: 10, until: 25 * time.Minute,
			queue: []reads{
				from(60, 240), from(120, 90), from(150, 0), from(300, 240), from(370, 60), from(400, 0),
				from(540, 220), from(600, 40), from(640, 0),
			},
			claim: func(s *story) string {
				return fmt.Sprintf("The second and the third burst find %d pods each; one after %s has to wake it.", min(s.at(299), s.at(539)), clock(s.reaches(0, 60)))
			},
		},
		{
			name: "slow", heading: "## Slow consumers", title: "Twelve long jobs that end one by one", each: 1, until: 45 * time.Minute,
			queue: []reads{
				from(60, 12), from(660, 9), from(720, 6), from(780, 4), from(1020, 3), from(1260, 0),
			},
			claim: func(s *story) string {
				return fmt.Sprintf("Three jobs end at 11:00; the first pod goes at %s, and then one every two minutes.", clock(s.reaches(11, 660)))
			},
		},
		{
			name: "gpu", heading: "## Expensive GPU pods", title: "A blip, and work that stays", each: 20, until: 16 * time.Minute,
			queue: []reads{
				from(30, 3), from(60, 90), from(75, 12), from(240, 70), from(420, 40), from(480, 10), from(540, 0),
			},
			claim: func(s *story) string {
				return fmt.Sprintf("3 jobs wake nothing. The blip of 90 wakes one pod, and not the five that it asks for; "+
					"the 70 that stay get their second pod at %s.", clock(s.reaches(2, 0)))
			},
		},
		{
			name: "hours", heading: "## Business hours", title: "From ten to nine until half past five, on a Monday", each: 5,
			// The story's clock begins on a Saturday; London is on UTC in January.
			start: 2*day + 8*time.Hour + 50*time.Minute, until: 8*time.Hour + 40*time.Minute,
			queue: []reads{from(3*3600, 55), from(3*3600+1200, 10), from(4*3600, 0)},
			claim: func(s *story) string {
				return fmt.Sprintf("At nine the clock wakes it, and %s later there are %d pods. The last goes %s after five.",
					plural(s.reaches(4, 0)-600, "second"), s.at(s.reaches(4, 0)), plural((s.reaches(0, 8*3600)-490*60)/60, "minute"))
			},
		},
	}
}

// TestTuning: the pictures of tuning.md are what its recipes do, and there is no other.
func TestTuning(t *testing.T) {
	blocks := map[string]string{}
	want := []string{readmePicture}
	for _, r := range recipes() {
		_, section, found := strings.Cut(read(t, tuningFile), "\n"+r.heading+"\n")
		manifest := captures("(?s)```yaml\n(.*?)```", section)
		if !found || len(manifest) == 0 {
			t.Fatalf("%s has no recipe in %q", tuningFile, r.heading)
		}
		s := storyOf(t, "spec:\n"+manifest[0])
		s.start, s.until, s.queue = r.start, r.until, r.queue
		s.play(t)
		picture, file := s.picture(r.title, r.each), "picture/"+r.name+".svg"
		if *update {
			write(t, file, picture.svg())
		}
		if read(t, file) != picture.svg() {
			t.Errorf("%s is out of date: run go test ./docs -update", file)
		}
		blocks["run "+r.name] = fmt.Sprintf("![%s. Replicas: %s.](%s)\n\n%s\n", r.title, s.path(), file, r.claim(s))
		want = append(want, file)
	}
	checkBlocks(t, tuningFile, blocks)
	slices.Sort(want)
	if got, err := filepath.Glob("picture/*"); err != nil || !slices.Equal(got, want) {
		t.Errorf("picture/ has %v, want %v (%v)", got, want, err)
	}
}

// clock is a second of a story as minutes and seconds.
func clock(second int) string { return fmt.Sprintf("%d:%02d", second/60, second%60) }

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
