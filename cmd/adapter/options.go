package main

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dashpot-project/dashpot/internal/process"
)

// options are what a command line asks for. A value of parse is valid.
type options struct {
	process.Options
	httpsAddress string
	apiGroup     string
	// namespace and leaseName are those of the Lease of the replica that writes statuses
	// and Events.
	namespace, leaseName string
}

// parse reads a command line. Its error names every problem at once: the flag, its
// value and what is legal. --help prints the flags to out and is pflag.ErrHelp.
func parse(args []string, getenv func(string) string, out io.Writer) (options, error) {
	var o options
	flags := process.NewFlags("adapter", "the metrics", &o.Options, out)
	flags.StringVar(&o.httpsAddress, "https-address", ":6443", "serve the metrics on this HOST:PORT; without a certificate, with one of its own")
	flags.StringVar(&o.apiGroup, "api-group", "external.metrics.k8s.io", "serve the metrics as this API group")
	flags.StringVar(&o.namespace, "namespace", "", "keep the Lease of the replica that writes statuses in this namespace; default $POD_NAMESPACE, else that of the pod's service account, else default")
	flags.StringVar(&o.leaseName, "lease-name", "dashpot-adapter", "name of that Lease; another one for each adapter of a namespace")
	if err := flags.Read(args, getenv); err != nil {
		return options{}, err
	}
	if o.namespace == "" {
		o.namespace = ownNamespace(getenv)
	}
	flags.CheckAddress("https-address", o.httpsAddress)
	flags.CheckDistinct("https-address", o.httpsAddress)
	if found := validation.IsDNS1123Subdomain(o.apiGroup); len(found) > 0 || !strings.Contains(o.apiGroup, ".") {
		flags.Problem("--api-group is %q; it must be a DNS name of at least two parts, such as external.metrics.k8s.io", o.apiGroup)
	}
	if found := validation.IsDNS1123Label(o.namespace); len(found) > 0 {
		flags.Problem("--namespace is %q; it must be the name of a namespace: at most 63 of a-z, 0-9 and -, the first and the last a letter or digit", o.namespace)
	}
	if found := validation.IsDNS1123Subdomain(o.leaseName); len(found) > 0 {
		flags.Problem("--lease-name is %q; it must be the name of a Lease: at most 253 of a-z, 0-9, - and ., the first and the last a letter or digit", o.leaseName)
	}
	return o, flags.Err()
}
