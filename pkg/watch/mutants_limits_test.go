package watch

import "testing"

// A limit that is not given is 50,000 streams, and one that is counts as it is.
func TestTheLimitOfStreamsByDefault(t *testing.T) {
	for given, want := range map[int]int{-1: 50_000, 0: 50_000, 1: 1, 60_000: 60_000} {
		if got := (Options{MaxStreams: given}).withDefaults().MaxStreams; got != want {
			t.Errorf("%d becomes %d, want %d", given, got, want)
		}
	}
}
