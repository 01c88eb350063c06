// Command floor is an external-metrics adapter that decides nothing: it has Dashpot's
// server, with TLS, authentication and authorisation, and one answer for every name. What
// it reaches is what no adapter behind that server can surpass. It takes the adapter's
// flags, and obeys those that say where to listen, as whom, and where the cluster is.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/externalmetrics"
	"github.com/dashpot-project/dashpot/pkg/scaling"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("floor", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	https := flags.String("https-address", ":6443", "serve the metrics here")
	probes := flags.String("http-address", ":8080", "answer probes here")
	cert := flags.String("tls-cert", "", "PEM file")
	key := flags.String("tls-key", "", "PEM file")
	kubeconfig := flags.String("kubeconfig", "", "of the API server that knows who asks")
	group := flags.String("api-group", "", "API group to serve")
	value := flags.Int64("value", 0, "the answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	server, err := externalmetrics.New(externalmetrics.Options{
		Policies: constant(*value), Evaluator: constant(*value), Cluster: cluster,
		Group: *group, Certificate: *cert, Key: *key,
	})
	if err != nil {
		return err
	}
	return server.Run(ctx, func(ctx context.Context) (net.Listener, error) {
		for server.Ready(ctx) != nil && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *https)
		if err != nil {
			return nil, err
		}
		go answerProbes(*probes)
		return listener, nil
	})
}

// answerProbes says that all is well: it is asked only once it is.
func answerProbes(address string) {
	probes := &http.Server{
		Addr: address, ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
	}
	if err := probes.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// constant knows every metric, and decides always the same.
type constant int64

func (constant) Metric(_ context.Context, namespace, name string) (scaling.Metric, error) {
	return scaling.Metric{Ref: scaling.Ref{Namespace: namespace, Kind: scaling.KindStabilizedMetric, Name: name}}, nil
}

func (c constant) Evaluate(context.Context, scaling.Request) scaling.Decision {
	return scaling.Decision{Value: algorithm.Milli(int64(c) * 1000), At: time.Now()}
}
