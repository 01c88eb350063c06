// Command cluster starts the control plane of the end-to-end tests with two
// replicas of Dashpot and keeps it until it is interrupted, to try things by
// hand: it is what the quickstarts in docs run on. A file of shell variables
// says where everything is.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"
)

func main() {
	redis.SetLogger(silent{})
	var o options
	pflag.BoolVar(&o.withoutKEDA, "without-keda", false, "leave KEDA out, and run Dashpot's adapter in the place of its scaler")
	pflag.IntVar(&o.replicas, "replicas", 2, "replicas of the scaler or the adapter")
	pflag.DurationVar(&o.hpaSync, "hpa-sync", 15*time.Second, "period of the HPA controller; Kubernetes' default is 15s")
	pflag.StringVar(&o.dir, "dir", "", "directory for logs and data, which is kept; by default a temporary one")
	pflag.StringVar(&o.env, "env", "bin/cluster.env", "file to write, which tells a shell of the cluster and is removed at the end")
	pflag.Parse()
	o.args = pflag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1) //nolint:gocritic // children end with this process
	}
}

// silent drops what go-redis writes of a server that is only just starting.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
