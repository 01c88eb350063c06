package delegate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Plan is what a Set is made of: valid delegates, in order. nil is a plan without any.
type Plan struct{ delegates []Config }

// The limits of a delegate. A timeout stays below the pause of a breaker; and of the 2 s
// that a request of an HPA may take, a longer one would leave nothing.
const (
	leastTimeout  = 10 * time.Millisecond
	mostTimeout   = 2 * time.Second
	mostAtATime   = 1000
	nameLegal     = "at most 63 of a-z, 0-9 and -, the first and the last a letter or digit"
	urlLegal      = "https://HOST[:PORT][/PATH] with a port from 1 to 65535, without @, ? and #"
	flagLegal     = "NAME=URL, such as keda=https://keda-operator-metrics-apiserver.keda"
	fileLegal     = "the path of a file"
	versionLegal  = "GROUP/VERSION, such as " + defaultGroupVersion
	patternLegal  = "patterns of names, such as s0-redis-*"
	labelLegal    = "keys of labels, such as scaledobject.keda.sh/name"
	matchLegal    = "a mapping of metrics, namespaces, labels"
	delegateLegal = "a list of mappings, each with name and url"
)

// NewPlan reads the values of the flag --delegate, each NAME=URL, and the file of
// --delegates-file, if any. Those of the flags come first. The error names every problem
// at once: where, the value and what is legal.
func NewPlan(flags []string, file string) (*Plan, error) {
	var p Plan
	var problems []error
	for _, text := range flags {
		p.addFlag(text, &problems)
	}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("--delegates-file: %w", err))
		} else {
			p.addFile("--delegates-file "+file+": ", data, &problems)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if len(p.delegates) == 0 {
		return nil, nil //nolint:nilnil // which is a plan
	}
	return &p, nil
}

func (p *Plan) addFlag(text string, problems *[]error) {
	name, address, found := strings.Cut(text, "=")
	if !found || !isName(name) { // it may be a part of the URL, and of a password
		*problems = append(*problems, fmt.Errorf("--delegate is %s; it must be %s", show(text), flagLegal))
		return
	}
	p.add(&fields{path: "--delegate " + show(name) + ": ", values: map[string]any{"name": name, "url": address}, problems: problems})
}

// addFile reads a file. where stands before every problem.
func (p *Plan) addFile(where string, data []byte, problems *[]error) {
	var document any
	converted, err := yaml.YAMLToJSONStrict(data)
	if err == nil {
		err = json.Unmarshal(converted, &document)
	}
	if err != nil {
		*problems = append(*problems, fmt.Errorf("%s%s", where, strings.ReplaceAll(err.Error(), "\n", "; ")))
		return
	}
	values, ok := document.(map[string]any)
	if !ok {
		*problems = append(*problems, fmt.Errorf("%sis %s; it must be a mapping with the key delegates", where, show(document)))
		return
	}
	top := &fields{path: where, values: values, problems: problems}
	list, ok := top.take("delegates").([]any)
	if !ok || len(list) == 0 {
		top.problem("delegates", delegateLegal)
	}
	for i, entry := range list {
		values, ok := entry.(map[string]any)
		if !ok {
			*problems = append(*problems, fmt.Errorf("%sdelegates[%d] is %s; it must be a mapping with name and url", where, i, show(entry)))
			continue
		}
		p.add(&fields{path: fmt.Sprintf("%sdelegates[%d].", where, i), values: values, problems: problems})
	}
	top.finish()
}

// add reads one delegate.
func (p *Plan) add(f *fields) {
	c := Config{
		Name:       f.required("name", nameLegal, isName),
		URL:        strings.TrimRight(f.required("url", urlLegal, isBase), "/"),
		CAFile:     f.text("caFile", fileLegal, anything),
		ServerName: f.text("serverName", "the name in the certificate", anything), InsecureSkipVerify: f.flag("insecureSkipVerify"),
		TokenFile: f.text("tokenFile", fileLegal, anything), CertFile: f.text("certFile", fileLegal, anything), KeyFile: f.text("keyFile", fileLegal, anything),
		GroupVersion:  cmp.Or(f.text("groupVersion", versionLegal, isGroupVersion), defaultGroupVersion),
		Timeout:       cmp.Or(f.duration("timeout", leastTimeout, mostTimeout), defaultTimeout),
		MaxConcurrent: cmp.Or(f.whole("maxConcurrent", mostAtATime), defaultMaxConcurrent),
	}
	match := f.nested("match", matchLegal)
	c.Match = Match{
		Metrics:    match.texts("metrics", patternLegal, isPattern),
		Namespaces: match.texts("namespaces", patternLegal, isPattern),
		Labels:     match.texts("labels", labelLegal, func(s string) bool { return len(validation.IsQualifiedName(s)) == 0 }),
	}
	match.finish()
	if (c.CertFile == "") != (c.KeyFile == "") {
		f.conflict("certFile is %q and keyFile is %q; both must be set, or neither", c.CertFile, c.KeyFile)
	}
	if c.InsecureSkipVerify && c.CAFile != "" {
		f.conflict("insecureSkipVerify is true and caFile is %q; only one of them can hold", c.CAFile)
	}
	if c.InsecureSkipVerify && c.TokenFile == "" && c.CertFile == "" {
		f.conflict("insecureSkipVerify is true, and there is neither tokenFile nor certFile; the cluster's own credentials go to no server that nobody has verified")
	}
	if c.Name != "" && slices.ContainsFunc(p.delegates, func(other Config) bool { return other.Name == c.Name }) {
		f.conflict("name is %q, as of a delegate before it; each must have its own", c.Name)
	}
	f.finish()
	p.delegates = append(p.delegates, c)
}

func anything(string) bool { return true }

func isName(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

// isBase reports whether a URL is one to which a token may be sent.
func isBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && !strings.ContainsAny(text, "@?#") && isPort(u)
}

// isPort reports whether a URL has a port from 1 to 65535, or none and no colon for one.
func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

func isGroupVersion(text string) bool {
	gv, err := schema.ParseGroupVersion(text)
	return err == nil && len(validation.IsDNS1123Subdomain(gv.Group)) == 0 && len(validation.IsDNS1123Label(gv.Version)) == 0
}

func isPattern(text string) bool {
	_, err := path.Match(text, "")
	return err == nil
}
