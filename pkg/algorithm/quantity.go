package algorithm

import (
	"fmt"
	"math"
)

// Milli is a quantity in thousandths, the unit in which the HPA computes: 2.5
// jobs are 2500.
type Milli int64

// MaxMilli is the largest quantity that is passed on. Kubernetes multiplies a
// quantity by 1000 without looking for overflow: above 9.2e15 the HPA reads 0 or
// a negative number. Staying well below leaves room for targets and sums.
const MaxMilli Milli = 9_000_000_000_000_000

// ToMilli rounds a value up to thousandths, as Kubernetes does with a quantity:
// 20.0000001 becomes 20001. NaN, infinities, negative values and values above
// MaxMilli are errors; what is missing or broken is never 0.
func ToMilli(value float64) (Milli, error) {
	if err := carriable(value); err != nil {
		return 0, err
	}
	// A decimal such as 0.07 is 70.00000000000001 thousandths in binary. Noise
	// below a millionth of a thousandth, or in the last binary digit of a large
	// value, is not a reason to round up.
	scaled := value * 1000
	noise := max(1e-6, scaled*0x1p-52)
	if nearest := math.Round(scaled); math.Abs(scaled-nearest) < noise {
		return Milli(nearest), nil
	}
	return Milli(math.Ceil(scaled)), nil
}

// NearestMilli rounds a value to the nearest thousandth, as KEDA does with what its
// own scalers read: 20.0000001 becomes 20000. Its errors are those of ToMilli.
func NearestMilli(value float64) (Milli, error) {
	if err := carriable(value); err != nil {
		return 0, err
	}
	return Milli(math.Round(value * 1000)), nil
}

// carriable returns why a value cannot be a Milli.
func carriable(value float64) error {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("value %v is not a finite number", value)
	case value < 0:
		return fmt.Errorf("value %v is negative", value)
	case value*1000 > float64(MaxMilli):
		return fmt.Errorf("value %v is above the largest that Kubernetes can carry, %v", value, MaxMilli.Float())
	}
	return nil
}

// Times is n times the quantity, at most MaxMilli.
func (m Milli) Times(n int32) Milli {
	if n > 0 && m > MaxMilli/Milli(n) {
		return MaxMilli
	}
	return Milli(n) * m
}

// Float is the quantity in whole units.
func (m Milli) Float() float64 { return float64(m) / 1000 }
