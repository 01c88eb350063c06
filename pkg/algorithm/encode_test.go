package algorithm

import (
	"testing"
)

func TestEncode(t *testing.T) {
	tenth := Tolerance{Down: 0.1, Up: 0.1}
	for _, tt := range []struct {
		name                    string
		wanted, current, status int32
		target                  float64
		tolerance               Tolerance
		value                   float64
		reachable               bool
	}{
		{"transparent HPA", 8, 3, 3, 1, Tolerance{}, 8, true},
		{"transparent HPA, one up", 21, 20, 20, 1, Tolerance{}, 21, true},
		{"transparent HPA, one down", 19, 20, 20, 1, Tolerance{}, 19, true},
		{"transparent HPA, to zero", 0, 20, 20, 1, Tolerance{}, 0, true},
		{"times the target", 8, 3, 3, 7.5, Tolerance{}, 60, true},
		{"20 to 18", 18, 20, 20, 1, tenth, 17.001, true},
		{"20 to 19 is inside", 19, 20, 20, 1, tenth, 20, false},
		{"20 to 21 is inside", 21, 20, 20, 1, tenth, 20, false},
		{"20 to 22 is inside", 22, 20, 20, 1, tenth, 20, false},
		{"20 to 23", 23, 20, 20, 1, tenth, 23, true},
		{"20 to 17: readable", 17, 20, 20, 1, tenth, 17, true},
		{"9 to 10", 10, 9, 9, 1, tenth, 10, true},
		{"10 to 11 is inside", 11, 10, 10, 1, tenth, 10, false},
		{"19 to 18", 18, 19, 19, 1, tenth, 17.001, true},
		{"20 to 21 needs less than 5 %", 21, 20, 20, 1, Tolerance{Up: 0.05}, 20, false},
		{"20 to 21 with 4.9 %", 21, 20, 20, 1, Tolerance{Up: 0.049}, 21, true},
		{"from zero everything is exact", 1, 0, 0, 1, tenth, 1, true},
		{"stay at zero", 0, 0, 0, 1, tenth, 0, true},
		{"to zero with a down tolerance of 1", 0, 3, 3, 1, Tolerance{Down: 1}, 3, false},
		{"two to one with a down tolerance of 0.6", 1, 2, 2, 1, Tolerance{Down: 0.6}, 0.001, true},
		{"keda#5263: 80, then 89", 80, 44, 44, 1, tenth, 80, true},
		{"keda#5263: the last step", 89, 80, 80, 1, tenth, 89, true},
		{"keda#5263: from 81 it is stuck", 89, 81, 81, 1, tenth, 81, false},
		{"one milli is the whole way between two counts", 2, 20, 20, 0.001, tenth, 0.002, true},

		// Surge: the HPA divides by status. What cannot be reached keeps current if
		// that can be asked for, else the HPA settles on status.
		{"surge: keep 20 while 25 run", 20, 20, 25, 1, tenth, 20, true},
		{"surge: 24 is inside the band of 25", 24, 20, 25, 1, tenth, 20, false},
		{"surge: neither 21 nor 20 beside 21", 22, 20, 21, 1, tenth, 20, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target, err := ToMilli(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			got := Encode(tt.wanted, tt.current, tt.status, target, tt.tolerance)
			if got.Value.Float() != tt.value || got.Reachable != tt.reachable {
				t.Errorf("got %v, %v; want %v, %v", got.Value.Float(), got.Reachable, tt.value, tt.reachable)
			}
		})
	}
}

// encodeCase is one HPA to land on wanted.
type encodeCase struct {
	wanted, current, status int32
	target                  Milli
	tolerance               Tolerance
}

// check decides by force what Encode decides by two tries, and whether what it
// says is so.
func (c encodeCase) check(t *testing.T) (reachable bool) {
	t.Helper()
	got := Encode(c.wanted, c.current, c.status, c.target, c.tolerance)
	landed, _ := AverageValue(got.Value, c.target, c.status, c.tolerance)
	switch {
	case got.Reachable && landed != c.wanted:
		t.Fatalf("%+v: %d lands on %d", c, got.Value, landed)
	case got.Reachable:
		return true
	}
	if value, ok := c.search(c.wanted); ok {
		t.Fatalf("%+v is not reachable, says Encode, but %d lands on it", c, value)
	}
	if landed == c.current {
		return false
	}
	if value, ok := c.search(c.current); ok || landed != c.status {
		t.Fatalf("%+v: to hold, %d lands on %d, while %d keeps it", c, got.Value, landed, value)
	}
	return false
}

// search tries values that could make the HPA land on n. It lands there only by
// ceil(value/target) = n, that is by a value in ((n-1)*target, n*target], or by a
// value in the band when n is status, which n*target then is. The band is an
// interval, because the ratio grows with the value, so what of the first interval
// lies outside the band is a piece at its lower end, one at its upper end, or
// both. Its two ends would therefore do. To check that argument and the float
// arithmetic under it, a small interval is tried in full, and of a large one every
// value near both ends, some a little beyond them, and fifty between. (target 0.25
// is small enough, and the arithmetic is the same for every target.)
func (c encodeCase) search(n int32) (Milli, bool) {
	const near = 20
	last := Milli(n) * c.target
	first := last - c.target + 1
	step := Milli(1)
	if c.target > 250 {
		step = c.target / 50
	}
	for value := max(0, first-near); value <= last+near; {
		if landed, _ := AverageValue(value, c.target, c.status, c.tolerance); landed == n {
			return value, true
		}
		if value < first+near || value >= last-near {
			value++
		} else {
			value = min(value+step, last-near)
		}
	}
	return 0, false
}

func TestEncodeEveryCount(t *testing.T) {
	const most = 300
	for _, target := range []Milli{1000, 3000, 7500, 250, 1_000_000} {
		for _, tolerance := range []Tolerance{
			{}, {Down: 0.05, Up: 0.05}, {Down: 0.1, Up: 0.1}, {Down: 0.05}, {Up: 0.1}, {Down: 1, Up: 0.02},
		} {
			reachable := 0
			for status := int32(0); status <= most; status++ {
				for wanted := int32(0); wanted <= most; wanted++ {
					if (encodeCase{wanted, status, status, target, tolerance}).check(t) {
						reachable++
					}
				}
			}
			total := (most + 1) * (most + 1)
			t.Logf("target %v, tolerance %+v: %d of %d are reachable", target.Float(), tolerance, reachable, total)
			if (tolerance == Tolerance{}) && reachable != total {
				t.Errorf("target %v without a tolerance: %d of %d are reachable", target.Float(), reachable, total)
			}
		}
	}
}

// While pods start, surge or end, status is not current.
func TestEncodeWhileStatusDiffers(t *testing.T) {
	for _, target := range []Milli{1000, 7500, 250} {
		for _, tolerance := range []Tolerance{{}, {Down: 0.1, Up: 0.1}, {Down: 0.05, Up: 0.02}} {
			for current := int32(0); current <= 60; current++ {
				for _, status := range []int32{0, 1, current / 2, current - 1, current + 1, current + current/4, 2 * current, 300} {
					for wanted := int32(0); wanted <= 300; wanted++ {
						encodeCase{wanted, current, max(0, status), target, tolerance}.check(t)
					}
				}
			}
		}
	}
}

func FuzzEncode(f *testing.F) {
	f.Add(int32(18), int32(20), int32(20), int64(1000), uint16(100), uint16(100))
	f.Add(int32(0), int32(3), int32(3), int64(1), uint16(1000), uint16(0))
	f.Add(int32(100000), int32(99999), int32(100001), int64(7_777_777), uint16(61), uint16(122))
	f.Fuzz(func(t *testing.T, wanted, current, status int32, target int64, down, up uint16) {
		count := func(n int32) int32 { return int32(uint32(n) % 100_001) }
		encodeCase{
			wanted: count(wanted), current: count(current), status: count(status),
			target:    1 + Milli(uint64(target)%10_000_000_000),
			tolerance: Tolerance{Down: float64(down) * 0.001, Up: float64(up) * 0.001},
		}.check(t)
	})
}
