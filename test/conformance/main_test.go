// Package conformance puts Kubernetes' own HPA controller and pkg/algorithm before the
// same inputs and compares what they do.
package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// The defaults are the portion that CI runs; `make conformance` asks for all.
var (
	calculations = flag.Int("calculations", 1_000_000, "how many random replica calculations to compare")
	reconciles   = flag.Int("reconciles", 400_000, "how many random reconciles to compare, at least")
	seed         = flag.Uint64("seed", 1, "what the random inputs are drawn from")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Upstream's own handler sleeps until a millisecond has passed since the last error,
	// on a clock that starts with the process: in a bubble, whose year is 2000, the
	// first error would sleep for decades. Errors show as conditions here.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) {}} //nolint:reassign // it is there to be set
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	debug.SetGCPercent(400) // the controllers make much garbage and keep little
	os.Exit(m.Run())
}

// newRandom is one stream of random numbers of the run's seed. Streams are told apart by
// a hash: neighbouring seeds of the generator itself give related numbers.
func newRandom(stream string, number int) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", *seed, stream, number))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// pick is one of the choices, each as likely as the others.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
