// Command demo shows Dashpot at work in one process: no cluster, no Redis.
// DEMO_SECONDS sets its length, 60 by default.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/dashpot-project/dashpot/internal/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	length := time.Minute
	if text := os.Getenv("DEMO_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || time.Duration(seconds)*time.Second < demo.MinLength {
			return fmt.Errorf("DEMO_SECONDS: %q is not a number of seconds from %d", text, int(demo.MinLength.Seconds()))
		}
		length = time.Duration(seconds) * time.Second
	}
	info, err := os.Stdout.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0
	return demo.Run(ctx, demo.Options{Length: length, Out: os.Stdout, Live: live})
}
