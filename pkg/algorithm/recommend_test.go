package algorithm

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestToMilli(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value float64
		want  Milli
	}{
		{"nothing", 0, 0},
		{"nothing, negative zero", math.Copysign(0, -1), 0},
		{"whole", 37, 37_000},
		{"exact thousandths", 2.5, 2_500},
		{"a tenth is not exact in binary", 0.1, 100},
		{"70.00000000000001 thousandths", 0.07, 70},
		{"1000.9999999999999 thousandths", 1.001, 1_001},
		{"rounded up, never to nearest", 20.0000001, 20_001},
		{"rounded up from just above", 20.0001, 20_001},
		{"rounded up from below", 20.0009, 20_001},
		{"the smallest quantity of Kubernetes", 1e-9, 1},
		{"noise", 1e-10, 0},
		{"noise below a whole number", 0.1 + 0.7, 800}, // 0.7999999999999999
		{"noise above a whole number", 0.1 + 0.2, 300}, // 0.30000000000000004
		{"noise in the last digit of a large value", 70_099_593_541.434, 70_099_593_541_434},
		{"the largest", 9e12, MaxMilli},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ToMilli(tt.value)
			if err != nil || got != tt.want {
				t.Errorf("ToMilli(%v) = %d, %v; want %d", tt.value, got, err, tt.want)
			}
		})
	}
}

func TestToMilliRefuses(t *testing.T) {
	for _, tt := range []struct {
		value float64
		says  string
	}{
		{math.NaN(), "value NaN is not a finite number"},
		{math.Inf(1), "value +Inf is not a finite number"},
		{math.Inf(-1), "value -Inf is not a finite number"},
		{-1, "value -1 is negative"},
		{-0.0004, "value -0.0004 is negative"},
		{-math.SmallestNonzeroFloat64, "is negative"},
		{math.Nextafter(9e12, math.Inf(1)), "is above the largest that Kubernetes can carry, 9e+12"},
		{1e16, "value 1e+16 is above the largest"},
		{math.MaxFloat64, "is above the largest"},
	} {
		got, err := ToMilli(tt.value)
		if err == nil || !strings.Contains(err.Error(), tt.says) || got != 0 {
			t.Errorf("ToMilli(%v) = %d, %v; want an error that says %q", tt.value, got, err, tt.says)
		}
	}
}

// decimalCeil is Kubernetes' reading of a written number, digit by digit: three
// decimals count, and anything but zeros after them rounds up.
func decimalCeil(t *testing.T, decimal string) Milli {
	t.Helper()
	whole, fraction, _ := strings.Cut(decimal, ".")
	fraction += "000"
	milli, err := strconv.ParseInt(whole+fraction[:3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Trim(fraction[3:], "0") != "" {
		milli++
	}
	return Milli(milli)
}

func TestToMilliReadsDecimalsAsKubernetesDoes(t *testing.T) {
	r := newRandom(t)
	for range propertyCases {
		// Up to three decimals at any size, up to eight at everyday sizes: what a
		// float64 still tells apart.
		whole, places := r.Int64N(pick(r, int64(10), 1000, 1_000_000, 1_000_000_000_000)), r.IntN(4)
		if whole < 100_000 {
			places = r.IntN(9)
		}
		decimal := strconv.FormatInt(whole, 10)
		if places > 0 {
			digits := strconv.FormatInt(r.Int64N(int64(math.Pow10(places))), 10)
			decimal += "." + strings.Repeat("0", places-len(digits)) + digits
		}
		value, err := strconv.ParseFloat(decimal, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := decimalCeil(t, decimal)
		if got, err := ToMilli(value); err != nil || got != want {
			t.Fatalf("ToMilli(%s) = %d, %v; the decimal is %d", decimal, got, err, want)
		}
	}
}

// What Kubernetes is told is a float in the gRPC answer, written with three
// decimals on the way. It must come back as the same thousandths.
func TestMilliSurvivesTheWire(t *testing.T) {
	r := newRandom(t)
	for range propertyCases {
		m := Milli(r.Int64N(pick(r, int64(1000), 1_000_000, 1_000_000_000_000_000)))
		sent := strconv.FormatFloat(m.Float(), 'f', 3, 64)
		if got := decimalCeil(t, sent); got != m {
			t.Fatalf("%d milli is sent as %s and read as %d", m, sent, got)
		}
		if got, err := ToMilli(m.Float()); err != nil || got != m {
			t.Fatalf("ToMilli(%v) = %d, %v; want %d", m.Float(), got, err, m)
		}
	}
}

func FuzzToMilli(f *testing.F) {
	for _, v := range []float64{0, 0.07, 1.001, 20.0000001, 1e-9, -1, 9e12, 1e300, math.NaN(), math.Inf(-1)} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value float64) {
		got, err := ToMilli(value)
		if legal := value >= 0 && value*1000 <= float64(MaxMilli); legal != (err == nil) {
			t.Fatalf("ToMilli(%v) = %d, %v", value, got, err)
		}
		if err != nil {
			return
		}
		noise := max(1e-6, value*1000*0x1p-51)
		if over := float64(got) - value*1000; over < -noise || over >= 1+noise {
			t.Errorf("ToMilli(%v) = %d, off by %v thousandths", value, got, over)
		}
		if next, err := ToMilli(math.Nextafter(value, math.Inf(1))); err == nil && next < got {
			t.Errorf("ToMilli(%v) = %d, but the next larger value gives %d", value, got, next)
		}
	})
}

func TestToleranceIsInclusive(t *testing.T) {
	tenth := Tolerance{Down: 0.1, Up: 0.1}
	for _, tt := range []struct {
		tolerance Tolerance
		ratio     float64
		within    bool
	}{
		{tenth, 1, true},
		{tenth, 0.9, true},
		{tenth, math.Nextafter(0.9, 0), false},
		{tenth, 1.1, true},
		{tenth, math.Nextafter(1.1, 2), false},
		{tenth, 0, false},
		{tenth, math.Inf(1), false},
		{tenth, math.NaN(), false},
		{Tolerance{}, 1, true},
		{Tolerance{}, math.Nextafter(1, 0), false},
		{Tolerance{}, math.Nextafter(1, 2), false},
		{Tolerance{Down: 0.3}, 0.7, true},
		{Tolerance{Down: 0.3}, 1.0001, false},
		{Tolerance{Up: 0.05}, 1.05, true},
		{Tolerance{Up: 0.05}, 0.9999, false},
		{Tolerance{Down: 1}, 0, true},
		{Tolerance{Down: 2, Up: 2}, 3, true},
		// Float noise is upstream's too: 1 - 0.061 is a little above 0.939, and
		// 1 + 0.122 a little below 1.122.
		{Tolerance{Down: 0.061}, 0.939, false},
		{Tolerance{Up: 0.122}, 1.122, false},
	} {
		if got := tt.tolerance.Contains(tt.ratio); got != tt.within {
			t.Errorf("%+v contains %v: %v, want %v", tt.tolerance, tt.ratio, got, tt.within)
		}
	}
}

func TestAverageValue(t *testing.T) {
	tenth := Tolerance{Down: 0.1, Up: 0.1}
	for _, tt := range []struct {
		name          string
		usage, target float64
		status        int32
		tolerance     Tolerance
		want          int32
		held          bool
	}{
		{"from zero it is exact", 37, 5, 0, tenth, 8, false},
		{"0.925 is inside", 37, 5, 8, tenth, 8, true},
		{"0.875 is not", 35, 5, 8, tenth, 7, false},
		{"nothing to do, nothing there", 0, 5, 0, tenth, 0, false},
		{"nothing to do", 0, 5, 8, tenth, 0, false},
		{"the smallest work", 0.001, 5, 0, tenth, 1, false},
		{"exactly +10 % holds", 22, 1, 20, tenth, 20, true},
		{"one milli above acts", 22.001, 1, 20, tenth, 23, false},
		{"exactly -10 % holds", 18, 1, 20, tenth, 20, true},
		{"one milli below acts", 17.999, 1, 20, tenth, 18, false},
		{"the band answers status, whatever spec is", 24, 1, 25, tenth, 25, true},
		{"no tolerance: one milli above", 20.001, 1, 20, Tolerance{}, 21, false},
		{"no tolerance: one milli below", 19.999, 1, 20, Tolerance{}, 20, false},
		{"no tolerance: equal", 20, 1, 20, Tolerance{}, 20, true},
		{"up only", 21, 1, 20, Tolerance{Up: 0.05}, 20, true},
		{"up only, down is exact", 19, 1, 20, Tolerance{Up: 0.05}, 19, false},
		{"a down tolerance of 1 never goes to zero", 0, 1, 3, Tolerance{Down: 1}, 3, true},
		{"fractions of a target", 1, 0.25, 0, tenth, 4, false},
		{"saturates", 9e12, 0.001, 1, tenth, math.MaxInt32, false},
		{"kubernetes#118273: status without surge", 9094.764, 200, 47, tenth, 47, true},
		{"kubernetes#118273: status with old pods", 9094.764, 200, 131, tenth, 46, false},
		{"9 pods of 4, 37 tasks", 37, 4, 9, tenth, 9, true},
		{"9 pods of 4, 38 tasks", 38, 4, 9, tenth, 9, true},
		{"9 pods of 4, 39 tasks", 39, 4, 9, tenth, 9, true},
		{"9 pods of 4, 40 tasks", 40, 4, 9, tenth, 10, false},
		{"10 pods of 4, 44 tasks: ratio is exactly 1.1", 44, 4, 10, tenth, 10, true},
		{"10 pods of 4, 45 tasks: two more, not one", 45, 4, 10, tenth, 12, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			usage, err := ToMilli(tt.usage)
			if err != nil {
				t.Fatal(err)
			}
			target, err := ToMilli(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			if got, held := AverageValue(usage, target, tt.status, tt.tolerance); got != tt.want || held != tt.held {
				t.Errorf("%v/%v at %d = %d, held %v; want %d, %v", tt.usage, tt.target, tt.status, got, held, tt.want, tt.held)
			}
		})
	}
}

// externalPerPod follows GetExternalPerPodMetricReplicas line by line.
func externalPerPod(usage, targetUsagePerPod int64, statusReplicas int32, t Tolerance) int32 {
	replicaCount := statusReplicas
	usageRatio := float64(usage) / (float64(targetUsagePerPod) * float64(replicaCount))
	isWithin := (1.0-t.Down) <= usageRatio && usageRatio <= (1.0+t.Up)
	if !isWithin {
		replicaCountResult := math.Ceil(float64(usage) / float64(targetUsagePerPod))
		if replicaCountResult > float64(math.MaxInt32) {
			replicaCount = math.MaxInt32
		} else {
			replicaCount = int32(replicaCountResult)
		}
	}
	return replicaCount
}

func TestAverageValueIsUpstreams(t *testing.T) {
	r := newRandom(t)
	for range propertyCases {
		target := 1 + r.Int64N(pick(r, int64(10), 1000, 100_000, 1e12))
		status := r.Int32N(pick[int32](r, 1, 3, 50, 2000, math.MaxInt32))
		tolerance := Tolerance{Down: randomTolerance(r), Up: randomTolerance(r)}
		usage := r.Int64N(pick(r, int64(1), 100, 1_000_000, int64(MaxMilli)))
		if r.IntN(2) == 0 { // near an edge of the band, where float noise decides
			edge := pick(r, 1, 1-tolerance.Down, 1+tolerance.Up)
			usage = int64(float64(target)*float64(status)*edge) + r.Int64N(5) - 2
			usage = min(max(usage, 0), int64(MaxMilli))
		}
		got, held := AverageValue(Milli(usage), Milli(target), status, tolerance)
		if want := externalPerPod(usage, target, status, tolerance); got != want {
			t.Fatalf("AverageValue(%d, %d, %d, %+v) = %d, upstream %d", usage, target, status, tolerance, got, want)
		}
		if held && got != status {
			t.Fatalf("AverageValue(%d, %d, %d, %+v) held %d", usage, target, status, tolerance, got)
		}
	}
}

// randomTolerance is one that came through the API server: n thousandths.
func randomTolerance(r *rand.Rand) float64 {
	return pick(r, 0, 0.05, 0.1, 0.3, float64(r.IntN(1000))*0.001, 2)
}

func TestNearestMilli(t *testing.T) {
	for value, want := range map[float64]Milli{0: 0, 0.0004: 0, 0.0005: 1, 20.0000001: 20000, 20.0006: 20001, 37: 37000} {
		if got, err := NearestMilli(value); err != nil || got != want {
			t.Errorf("NearestMilli(%v) = %d, %v, want %d", value, got, err, want)
		}
	}
	for _, value := range []float64{math.NaN(), math.Inf(1), -0.1, 1e13} {
		if got, err := NearestMilli(value); err == nil {
			t.Errorf("NearestMilli(%v) = %d, want an error", value, got)
		}
	}
}

// A product that int64 cannot hold would be negative, which the HPA reads as MaxInt32
// replicas.
func TestTimesSaturates(t *testing.T) {
	for _, c := range []struct {
		m    Milli
		n    int32
		want Milli
	}{{7500, 3, 22500}, {7500, 0, 0}, {1, math.MaxInt32, math.MaxInt32}, {MaxMilli, 2, MaxMilli}, {MaxMilli / 2, 2, MaxMilli}, {MaxMilli / 1000, math.MaxInt32, MaxMilli}} {
		if got := c.m.Times(c.n); got != c.want {
			t.Errorf("%d times %d = %d, want %d", c.m, c.n, got, c.want)
		}
	}
}
