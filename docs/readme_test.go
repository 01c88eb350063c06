package docs_test

import (
	"testing"
	"time"
)

const readmePicture = "picture/readme.svg"

// TestReadmePicture: the picture of the README is what its policy does.
func TestReadmePicture(t *testing.T) {
	s := storyOf(t, read(t, "../examples/redis-list/stabilised.yaml"))
	s.until = 16 * time.Minute
	// A burst, an hour's noise in small, a dip of 90 s inside the window of 120 s, and
	// nothing from 7:00 on.
	s.queue = []reads{
		from(60, 68), from(105, 52), from(150, 74), from(180, 31), from(210, 63), from(240, 12), from(330, 58),
		from(360, 24), from(375, 41), from(390, 18), from(405, 6), from(420, 0),
	}
	s.play(t)
	picture := s.picture("A queue that comes and goes, and the workload that Dashpot scales by it", 5)
	if *update {
		write(t, readmePicture, picture.svg())
	}
	if read(t, readmePicture) != picture.svg() {
		t.Errorf("%s is out of date: run go test ./docs -update", readmePicture)
	}
	checkBlocks(t, "../README.md", map[string]string{
		"picture": "![" + picture.title + ".](docs/" + readmePicture + ")\n",
	})
	t.Log(s.path())
}
