package algorithm

// Encoded is the metric value to send and whether an HPA that reads it lands on
// the wanted count.
type Encoded struct {
	Value Milli
	// Reachable is false when every value that could ask for the count lies inside
	// the HPA's tolerance. Value then keeps the HPA at current, or at status where
	// no value could keep it at current either.
	Reachable bool
}

// Encode finds the value that makes an HPA with an External AverageValue target
// decide wanted, in one sync and without a detour. status is the HPA's
// denominator (status.replicas), current the count to keep if wanted cannot be
// reached.
//
// wanted*target is what a person expects to read and is right whenever it leaves
// the tolerance. A step down that it cannot express is tried with the smallest
// value of the same ceiling, (wanted-1)*target + 1 milli. At status 20, target 1,
// tolerance 0.1: 18 is sent as 17.001 and reached; 19, 21 and 22 cannot be.
func Encode(wanted, current, status int32, target Milli, tolerance Tolerance) Encoded {
	if value, ok := encode(wanted, status, target, tolerance); ok {
		return Encoded{value, true}
	}
	hold, _ := encode(current, status, target, tolerance)
	return Encoded{hold, false}
}

// encode tries the two values that matter: of all that ask for wanted, the
// largest and the smallest.
func encode(wanted, status int32, target Milli, tolerance Tolerance) (Milli, bool) {
	largest := target.Times(wanted)
	if lands(largest, wanted, status, target, tolerance) {
		return largest, true
	}
	smallest := target.Times(wanted-1) + 1
	if wanted > 0 && lands(smallest, wanted, status, target, tolerance) {
		return smallest, true
	}
	return largest, false
}

func lands(value Milli, wanted, status int32, target Milli, tolerance Tolerance) bool {
	replicas, _ := AverageValue(value, target, status, tolerance)
	return replicas == wanted
}
