package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dashpot-project/dashpot/internal/process"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
)

// observeModes are the values of --observe.
const (
	observeAuto = "auto"
	observeOn   = "on"
	observeOff  = "off"
)

// redisURLVariable holds the URL where a password must not be on the command line.
const redisURLVariable = "DASHPOT_REDIS_URL"

// options are what a command line asks for. A value of parse is valid.
type options struct {
	grpcAddress, httpAddress string
	// redisURL is empty for the memory store.
	redisURL string
	// instance is empty for the cluster's own identity.
	instance string
	// kubeconfig lists files as the variable KUBECONFIG does; empty for the pod's
	// own service account, if there is one.
	kubeconfig string
	observe    string
	tls        process.CertificateFiles
	logLevel   slog.Level
	logFormat  string
	version    bool
}

// parse reads a command line. Its error names every problem at once: the flag, its
// value and what is legal. --help prints the flags to out and is pflag.ErrHelp.
func parse(args []string, getenv func(string) string, out io.Writer) (options, error) {
	var o options
	var level string
	flags := pflag.NewFlagSet("scaler", pflag.ContinueOnError)
	flags.SetOutput(out)
	flags.SortFlags = false
	flags.StringVar(&o.grpcAddress, "grpc-address", ":9090", "serve KEDA on this HOST:PORT")
	flags.StringVar(&o.httpAddress, "http-address", ":8080", "serve probes, metrics and /v1 on this HOST:PORT, without TLS")
	flags.StringVar(&o.redisURL, "redis-url", "", "share records through this Redis (redis://, redis-sentinel://, redis-cluster://, or rediss with TLS); empty keeps them in memory, for one replica; default $"+redisURLVariable)
	flags.StringVar(&o.instance, "instance", "", "name that separates this cluster from others on the same Redis; default the UID of kube-system, or \"default\" without a cluster")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "find the cluster by this file; default $KUBECONFIG, else the pod's service account")
	flags.StringVar(&o.observe, "observe", observeAuto, "read replicas from the cluster: on, off, or auto: on if there are credentials")
	flags.StringVar(&o.tls.Cert, "tls-cert", "", "serve KEDA with this PEM certificate; reloaded when it changes")
	flags.StringVar(&o.tls.Key, "tls-key", "", "the certificate's PEM key")
	flags.StringVar(&o.tls.ClientCA, "tls-client-ca", "", "refuse clients without a certificate of these PEM authorities")
	flags.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.logFormat, "log-format", "text", strings.Join(process.LogFormats(), " or "))
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if !flags.Changed("redis-url") {
		o.redisURL = getenv(redisURLVariable)
	}
	if o.kubeconfig == "" {
		o.kubeconfig = getenv("KUBECONFIG")
	}
	problems := o.problems()
	var err error
	if o.logLevel, err = process.ParseLevel(level); err != nil {
		problems = append(problems, fmt.Errorf("--log-level is %q; it must be debug, info, warn or error", level))
	}
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("argument %q is not a flag, and there is nothing else", flags.Arg(0)))
	}
	return o, errors.Join(problems...)
}

// problems is everything that is wrong with the options by themselves.
func (o options) problems() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for flag, address := range map[string]string{"grpc-address": o.grpcAddress, "http-address": o.httpAddress} {
		if !isAddress(address) {
			add("--%s is %q; it must be HOST:PORT or :PORT, the port from 0 (any) to 65535", flag, address)
		}
	}
	if o.grpcAddress == o.httpAddress && !strings.HasSuffix(o.grpcAddress, ":0") {
		add("--grpc-address and --http-address are both %q; they must differ", o.grpcAddress)
	}
	if modes := []string{observeAuto, observeOn, observeOff}; !slices.Contains(modes, o.observe) {
		add("--observe is %q; it must be %s", o.observe, strings.Join(modes, ", "))
	}
	if (o.tls.Cert == "") != (o.tls.Key == "") {
		add("--tls-cert is %q and --tls-key is %q; both must be set, or neither", o.tls.Cert, o.tls.Key)
	}
	if o.tls.ClientCA != "" && o.tls.Cert == "" {
		add("--tls-client-ca is %q without --tls-cert; clients show certificates only to a server with TLS", o.tls.ClientCA)
	}
	if formats := process.LogFormats(); !slices.Contains(formats, o.logFormat) {
		add("--log-format is %q; it must be %s", o.logFormat, strings.Join(formats, " or "))
	}
	if err := checkRedisURL(o.redisURL); err != nil {
		add("--redis-url: %w", err)
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// checkRedisURL lets the store judge a URL. A store connects on first use, so
// nothing happens on the network.
func checkRedisURL(url string) error {
	if url == "" {
		return nil
	}
	store, err := redisstore.Open(url, redisstore.Options{Instance: "check"})
	if err != nil {
		return err
	}
	return store.Close()
}
