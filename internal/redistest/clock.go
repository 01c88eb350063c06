package redistest

import (
	"crypto/sha256"
	_ "embed"
	bytes "encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest/cache"
)

// wrongClock is a library in C that is preloaded into a server. It is compiled here,
// because libfaketime, which does the same, cannot run below jemalloc, Redis' allocator.
//
//go:embed wrongclock.c.txt
var wrongClock string

// Clock is a wall clock that servers run by and that can be set while they run. Their
// monotonic clock stays right.
type Clock struct{ library, path string }

// NewClock returns a clock that is right. It keeps a file in a directory of the
// caller's, and needs a C compiler.
func NewClock(dir string) (*Clock, error) {
	library, err := compileClock()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "clock-")
	if err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	c := &Clock{library, file.Name()}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	if err := c.Set(0); err != nil {
		return nil, err
	}
	return c, nil
}

// Set makes the clock wrong by so much, in whole seconds, at once.
func (c *Clock) Set(by time.Duration) error {
	// In place: servers have the file mapped.
	file, err := os.OpenFile(c.path, os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	defer file.Close() //nolint:errcheck // the write is what may fail
	seconds := bytes.NativeEndian.AppendUint64(nil, uint64(int64(by/time.Second)))
	if _, err := file.WriteAt(seconds, 0); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return nil
}

// Option has a server run by the clock.
func (c *Clock) Option() Option {
	return WithEnv("LD_PRELOAD="+c.library, "REDISTEST_CLOCK="+c.path)
}

func compileClock() (string, error) {
	sum := sha256.Sum256([]byte(wrongClock))
	dir, err := cache.Dir("clock", hex.EncodeToString(sum[:6]), func(dir string) error {
		source := filepath.Join(dir, "clock.c")
		if err := os.WriteFile(source, []byte(wrongClock), 0o600); err != nil {
			return err
		}
		out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", filepath.Join(dir, "clock.so"), source).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compile a clock: %w", err)
	}
	return filepath.Join(dir, "clock.so"), nil
}
