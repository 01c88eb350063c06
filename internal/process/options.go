package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/dashpot-project/dashpot/internal/httpapi"
	"github.com/dashpot-project/dashpot/pkg/delegate"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
)

// redisURLVariable holds the URL where a password must not be on the command line.
const redisURLVariable = "DASHPOT_REDIS_URL"

// Options are what every program's command line asks for.
type Options struct {
	HTTPAddress string
	// RedisURL is empty for the memory store.
	RedisURL string
	// Instance is empty for the cluster's own identity.
	Instance string
	// Kubeconfig lists files as the variable KUBECONFIG does; empty for the pod's
	// own service account, if there is one.
	Kubeconfig string
	// Delegates are other servers of external metrics; nil for none.
	Delegates *delegate.Plan
	// Addresses are where triggers may lead to; nil for what is so by itself.
	Addresses *egress.Rules
	// Decisions is to whom the decisions are served.
	Decisions httpapi.Audience
	// MaxPolicies is how many policies the process takes on, MaxPerNamespace how many, and
	// how many streams, of one namespace; 0 for no limit of its own.
	MaxPolicies, MaxPerNamespace int
	// ForgetAfter is how long it remembers one that nobody asks about.
	ForgetAfter time.Duration
	TLS         TLSOptions
	LogLevel    slog.Level
	LogFormat   string
	Version     bool
}

// Common are the options of a program whose own embed them.
func (o Options) Common() Options { return o }

// ConnectDelegates returns the other servers of external metrics. Those without credentials
// of their own get the cluster's, if there are any.
func (o Options) ConnectDelegates() (*delegate.Set, error) {
	if o.Delegates == nil {
		return o.Delegates.Connect(nil)
	}
	config, err := ClusterConfig(o.Kubeconfig)
	if err != nil && !errors.Is(err, rest.ErrNotInCluster) {
		return nil, err
	}
	return o.Delegates.Connect(config)
}

// Flags is a command line that is being read.
type Flags struct {
	*pflag.FlagSet
	common        *Options
	level         string
	delegates     []string
	delegatesFile string
	allow, deny   []string
	decisions     string
	tlsVersion    string
	problems      []error
}

// NewFlags returns the flags of a program, which print their help to out. Those that
// every program has go to common; door is what the program serves with its certificate.
func NewFlags(program, door string, common *Options, out io.Writer) *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet(program, pflag.ContinueOnError), common: common}
	f.SetOutput(out)
	f.SortFlags = false
	f.StringVar(&common.HTTPAddress, "http-address", ":8080", "serve probes, metrics and /v1 on this HOST:PORT")
	f.StringVar(&common.RedisURL, "redis-url", "", "share records through this Redis (redis://, redis-sentinel://, redis-cluster://, or rediss with TLS); empty keeps them in memory, for one replica; default $"+redisURLVariable)
	f.StringVar(&common.Instance, "instance", "", "name that separates this cluster from others on the same Redis; default the UID of kube-system, or \"default\" without a cluster")
	f.StringVar(&common.Kubeconfig, "kubeconfig", "", "find the cluster by this file; default $KUBECONFIG, else the pod's service account")
	f.StringArrayVar(&f.delegates, "delegate", nil, "read external metrics of another adapter too, given as NAME=https://HOST[:PORT]; may be repeated")
	f.StringVar(&f.delegatesFile, "delegates-file", "", "read more such adapters, with their certificates, tokens and rules, from this YAML file")
	f.StringSliceVar(&f.allow, "allow-address", nil, "let triggers lead to this network, address or name (10.0.0.0/8, 127.0.0.1, *.shop.svc), whatever denies it, or everywhere (*); may be repeated")
	f.StringSliceVar(&f.deny, "deny-address", nil, "let no trigger lead there; loopback, link-local addresses and clouds' metadata are denied by themselves; may be repeated")
	f.StringVar(&f.decisions, "decisions", string(httpapi.Local), "serve /v1/policies to whom: local, callers in the same pod, as by kubectl port-forward; all; or off")
	f.IntVar(&common.MaxPolicies, "max-policies", 200_000, "take on so many policies at most")
	f.IntVar(&common.MaxPerNamespace, "max-per-namespace", 0, "take on so many policies, and keep open so many push streams, of one namespace at most; 0 for no limit of its own")
	f.DurationVar(&common.ForgetAfter, "forget-after", time.Hour, "forget a policy that nobody asks about for so long, and let its record expire so long after all in it; 10m to 24h, and longer than KEDA or an HPA ever waits between two questions")
	f.StringVar(&common.TLS.Cert, "tls-cert", "", "serve "+door+" with this PEM certificate; reloaded when it changes")
	f.StringVar(&common.TLS.Key, "tls-key", "", "the certificate's PEM key")
	f.StringVar(&f.tlsVersion, "tls-min-version", tlsVersions[0], "refuse TLS older than this: "+strings.Join(tlsVersions, " or "))
	f.BoolVar(&common.TLS.HTTP, "http-tls", false, "serve --http-address with the certificate too; who asks needs none")
	f.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&common.LogFormat, "log-format", "text", strings.Join(LogFormats(), " or "))
	f.BoolVar(&common.Version, "version", false, "print the version and exit")
	return f
}

// Problem notes what is wrong with a command line: the flag, its value and what is
// legal.
func (f *Flags) Problem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf(format, args...))
}

// Read reads a command line, with the environment where it is silent. Its error is
// about flags that there are not; it is pflag.ErrHelp when the help was asked for.
func (f *Flags) Read(args []string, getenv func(string) string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	o := f.common
	if !f.Changed("redis-url") {
		o.RedisURL = getenv(redisURLVariable)
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = getenv("KUBECONFIG")
	}
	var err error
	if o.Delegates, err = delegate.NewPlan(f.delegates, f.delegatesFile); err != nil {
		f.problems = append(f.problems, err)
	}
	for _, flag := range []string{"allow-address", "deny-address"} { // such as from a variable that is not set
		if entries, _ := f.GetStringSlice(flag); f.Changed(flag) && len(entries) == 0 {
			f.Problem("--%s is empty; leave it out for no entries", flag)
		}
	}
	if o.Addresses, err = egress.Parse(f.allow, f.deny); err != nil {
		f.problems = append(f.problems, err)
	}
	if o.Decisions = httpapi.Audience(f.decisions); !slices.Contains(httpapi.Audiences(), f.decisions) {
		f.Problem("--decisions is %q; it must be %s", f.decisions, strings.Join(httpapi.Audiences(), ", "))
	}
	if o.LogLevel, err = ParseLevel(f.level); err != nil {
		f.Problem("--log-level is %q; it must be debug, info, warn or error", f.level)
	}
	if f.NArg() > 0 {
		f.Problem("argument %q is not a flag, and there is nothing else", f.Arg(0))
	}
	f.CheckAddress("http-address", o.HTTPAddress)
	f.CheckCount("max-policies", o.MaxPolicies)
	if o.MaxPerNamespace != 0 {
		f.CheckCount("max-per-namespace", o.MaxPerNamespace)
	}
	if o.ForgetAfter < 10*time.Minute || o.ForgetAfter > 24*time.Hour {
		f.Problem("--forget-after is %v; it must be from 10m to 24h", o.ForgetAfter)
	}
	if (o.TLS.Cert == "") != (o.TLS.Key == "") {
		f.Problem("--tls-cert is %q and --tls-key is %q; both must be set, or neither", o.TLS.Cert, o.TLS.Key)
	}
	var known bool
	if o.TLS.MinVersion, known = parseTLSVersion(f.tlsVersion); !known {
		f.Problem("--tls-min-version is %q; it must be %s", f.tlsVersion, strings.Join(tlsVersions, " or "))
	}
	if o.TLS.HTTP && o.TLS.Cert == "" {
		f.Problem("--http-tls is set without --tls-cert; it is served with that certificate")
	}
	if formats := LogFormats(); !slices.Contains(formats, o.LogFormat) {
		f.Problem("--log-format is %q; it must be %s", o.LogFormat, strings.Join(formats, " or "))
	}
	if err := checkRedisURL(o.RedisURL); err != nil {
		f.Problem("--redis-url: %w", err)
	}
	return nil
}

// CheckAddress notes an address that nobody can listen on.
func (f *Flags) CheckAddress(flag, address string) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		f.Problem("--%s is %q; it must be HOST:PORT or :PORT, the port from 0 (any) to 65535", flag, address)
	}
}

// CheckCount notes a limit that lets nothing through, or more than an int32 counts.
func (f *Flags) CheckCount(flag string, count int) {
	if count < 1 || count > math.MaxInt32 {
		f.Problem("--%s is %d; it must be from 1 to %d", flag, count, math.MaxInt32)
	}
}

// CheckDistinct notes that two addresses are one.
func (f *Flags) CheckDistinct(flag, address string) {
	if address == f.common.HTTPAddress && !strings.HasSuffix(address, ":0") {
		f.Problem("--%s and --http-address are both %q; they must differ", flag, address)
	}
}

// Err is everything that is wrong with the command line, in a stable order.
func (f *Flags) Err() error {
	slices.SortFunc(f.problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(f.problems...)
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
