package main

import (
	"io"
	"slices"
	"strings"

	"github.com/dashpot-project/dashpot/internal/process"
)

// observeModes are the values of --observe.
const (
	observeAuto = "auto"
	observeOn   = "on"
	observeOff  = "off"
)

// options are what a command line asks for. A value of parse is valid.
type options struct {
	process.Options
	grpcAddress string
	observe     string
	maxStreams  int
	reflection  bool
}

// parse reads a command line. Its error names every problem at once: the flag, its
// value and what is legal. --help prints the flags to out and is pflag.ErrHelp.
func parse(args []string, getenv func(string) string, out io.Writer) (options, error) {
	var o options
	flags := process.NewFlags("scaler", "KEDA", &o.Options, out)
	flags.StringVar(&o.grpcAddress, "grpc-address", ":9090", "serve KEDA on this HOST:PORT")
	flags.StringVar(&o.observe, "observe", observeAuto, "read replicas from the cluster: on, off, or auto: on if there are credentials")
	flags.IntVar(&o.maxStreams, "max-streams", 50_000, "keep so many push streams open at most; a workload without one is woken by KEDA's polls")
	flags.BoolVar(&o.reflection, "grpc-reflection", false, "tell clients what is served, as grpcurl asks")
	flags.StringVar(&o.TLS.ClientCA, "tls-client-ca", "", "refuse clients without a certificate of these PEM authorities")
	if err := flags.Read(args, getenv); err != nil {
		return options{}, err
	}
	flags.CheckAddress("grpc-address", o.grpcAddress)
	flags.CheckDistinct("grpc-address", o.grpcAddress)
	flags.CheckCount("max-streams", o.maxStreams)
	if modes := []string{observeAuto, observeOn, observeOff}; !slices.Contains(modes, o.observe) {
		flags.Problem("--observe is %q; it must be %s", o.observe, strings.Join(modes, ", "))
	}
	if o.TLS.ClientCA != "" && o.TLS.Cert == "" {
		flags.Problem("--tls-client-ca is %q without --tls-cert; clients show certificates only to a server with TLS", o.TLS.ClientCA)
	}
	return o, flags.Err()
}
