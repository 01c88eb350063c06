package tiny

import "testing"

func TestClip(t *testing.T) {
	for n, want := range map[int]int{0: 0, 10: 10, 11: 10, 12: 10} {
		if got := Clip(n); got != want {
			t.Errorf("Clip(%d) = %d, not %d", n, got, want)
		}
	}
}

func TestPages(t *testing.T) {
	if got := Pages(20); got != 2 {
		t.Errorf("20 lines fill %d pages", got)
	}
}

func TestCountdown(t *testing.T) {
	if got := Countdown(3); got != 3 {
		t.Errorf("%d steps from 3 to 0", got)
	}
}
