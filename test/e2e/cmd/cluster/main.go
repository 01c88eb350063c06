// Command cluster starts the control plane of the end-to-end tests with two
// replicas of the scaler and keeps it until it is interrupted, to try things
// by hand.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	var o options
	pflag.StringVar(&o.example, "example", "examples/redis-list/stabilised.yaml", "manifest with a ScaledObject to apply; its scalerAddress is replaced")
	pflag.IntVar(&o.scalers, "scalers", 2, "replicas of the scaler")
	pflag.DurationVar(&o.hpaSync, "hpa-sync", 15*time.Second, "period of the HPA controller; Kubernetes' default is 15s")
	pflag.StringVar(&o.dir, "dir", "", "directory for logs and data, which is kept; by default a temporary one")
	pflag.Parse()
	o.scalerArgs = pflag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1) //nolint:gocritic // children end with this process
	}
}
