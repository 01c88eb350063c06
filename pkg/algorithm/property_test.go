package algorithm

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// propertyCases is how many random cases each property is tried on.
const propertyCases = 200_000

var seedFlag = flag.Uint64("seed", 0, "seed of the property tests; 0 draws a new one for each run")

// newRandom is the source of one property's cases. A failure prints the seed that
// repeats it.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with: go test -run '^%s$' ./pkg/algorithm -args -seed=%d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, seed>>1))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
