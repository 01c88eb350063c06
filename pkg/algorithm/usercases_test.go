package algorithm

import (
	"os"
	"slices"
	"testing"
)

// move is a change of the replica count.
type move struct {
	second float64
	to     int32
}

// every is one move per period, beginning at second.
func every(period, second float64, counts ...int32) []move {
	moves := make([]move, len(counts))
	for i, n := range counts {
		moves[i] = move{second + float64(i)*period, n}
	}
	return moves
}

// Cases that people reported of the controller, with the numbers that are right.
// The traces of the same names show every sync.
func TestUserCases(t *testing.T) {
	for _, tt := range []struct {
		trace string
		want  []move
	}{
		{"c01-raw", []move{{0, 88}}},
		{"c01-no-up-tolerance", []move{{0, 88}, {15, 89}}},
		{"c01-two-steps", []move{{0, 80}, {15, 89}}},
		{"c01-two-steps-early", []move{{0, 80}, {14.9, 88}}},
		{"c01-81", []move{{0, 81}}},
		{"c06", []move{{600, 15}, {780, 14}}},
		{"c08", every(60, 645, 3, 4, 5, 6)},
		{"c08-hourly", []move{{0, 7}, {15, 10}, {1185, 3}, {3600, 7}, {3615, 10}, {4785, 3}}},
		{"c09a", every(60, 300, 16, 12, 8, 4, 2)},
		{"c09b", every(60, 0, 6, 10, 14, 18, 20)},
		{"c09c", every(60, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 20)},
		{"c10", every(60, 300, 18, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2)},
	} {
		t.Run(tt.trace, func(t *testing.T) {
			content, err := os.ReadFile("testdata/" + tt.trace + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, syncs := replay(t, string(content))
			var got []move
			for _, s := range syncs {
				if s.to != s.from {
					got = append(got, move{s.at.Seconds(), s.to})
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("moved %v, want %v", got, tt.want)
			}
		})
	}
}
