package redistest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestClock: a server's clock jumps while it runs.
func TestClock(t *testing.T) {
	t.Parallel()
	clock, err := NewClock(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := Start(t, clock.Option())
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	for _, want := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 0} {
		if err := clock.Set(want); err != nil {
			t.Fatal(err)
		}
		now, err := client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(now) - want; off.Abs() > time.Minute {
			t.Errorf("set to %v the server's clock is off by %v more", want, off)
		}
	}
}
