package source

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unique"

	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// httpServer identifies an HTTP server and how to get into it. Like redisServer it is
// comparable, and kept behind a unique.Handle so that it is never printed.
type httpServer struct {
	// base is its URL, without a slash at the end and without credentials.
	base string
	// headers are sent with every request: one per line, "Name: value", sorted.
	headers string
	tls     httpTLS
	// id is base with a fingerprint of everything else.
	id string
}

// httpTLS is how to trust a server and be trusted by it. All but unsafe are PEM, or
// empty.
type httpTLS struct {
	ca, cert, key string
	unsafe        bool
}

var (
	customHeadersKey = metadata.Key{
		Name: "customHeaders", Format: "Name=value, or several separated by commas", Secret: true,
		Meaning: "Headers to send with every request. A value may contain =, but no comma.",
	}
	caKey   = metadata.Key{Name: "ca", Format: "certificates in PEM", Secret: true, Meaning: "Authorities to trust besides the system's."}
	certKey = metadata.Key{Name: "cert", Format: "a certificate in PEM that key fits", Secret: true, Meaning: "The client certificate, for authModes tls."}
	keyKey  = metadata.Key{Name: "key", Format: "a private key in PEM", Secret: true, Meaning: "The key of cert. Give it as keyFromEnv."}
)

// httpKeys are the keys that say how to get into an HTTP server.
func httpKeys() []metadata.Key {
	return []metadata.Key{
		customHeadersKey, authModesKey, bearerTokenKey, httpUsernameKey, httpPasswordKey,
		customAuthHeaderKey, customAuthValueKey, caKey, certKey, keyKey, unsafeKey,
	}
}

// parseHTTPServer reads the address and the keys of httpKeys.
func parseHTTPServer(m *metadata.Map, address metadata.Key, salt []byte) unique.Handle[httpServer] {
	base := parseURL(m, address, false)
	modes := parseAuthModes(m, authModesKey, bearerMode, basicMode, customMode, tlsMode)
	header := parseHeaders(m)
	authenticateByURL(base, header)
	authenticate(m, modes, header)
	base.User = nil
	s := httpServer{
		base: strings.TrimRight(base.String(), "/"), headers: lines(header), tls: parseTLS(m, modes, base.Scheme),
	}
	s.id = s.base + "#" + fingerprint(salt, s.headers, s.tls.fingerprint(salt))
	return unique.Make(s)
}

// fingerprint tells settings apart.
func (t httpTLS) fingerprint(salt []byte) string {
	unsafe := ""
	if t.unsafe {
		unsafe = "unsafe"
	}
	return fingerprint(salt, t.ca, t.cert, t.key, unsafe)
}

// parseURL reads a URL, which may have a path and credentials, and parameters where those
// are allowed. It never returns nil.
func parseURL(m *metadata.Map, k metadata.Key, parameters bool) *url.URL {
	text := m.Text(k)
	if text == "" { // which is reported
		return &url.URL{}
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Fragment != "" || !legalURLPort(u) ||
		(!parameters && (u.RawQuery != "" || u.ForceQuery)) {
		k.Secret = strings.ContainsAny(text, "@?") // nobody can say where in it a secret is
		m.Problem(k, "")
		return &url.URL{}
	}
	return u
}

func legalURLPort(u *url.URL) bool {
	return legalPort(u.Port()) || (u.Port() == "" && !strings.HasSuffix(u.Host, ":"))
}

// parseHeaders reads Name=value,Name=value. Of two with one name the last counts.
func parseHeaders(m *metadata.Map) http.Header {
	header := http.Header{}
	for _, entry := range fields(m.Text(customHeadersKey)) {
		name, value, found := strings.Cut(entry, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || !legalHeader(name, value) {
			m.Problem(customHeadersKey, "")
			return http.Header{}
		}
		header.Set(name, value)
	}
	return header
}

// legalHeader reports whether a header can be sent at all: its name is a token, and
// nothing in its value ends it.
func legalHeader(name, value string) bool {
	const legal = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return name != "" && strings.Trim(name, legal) == "" && !strings.ContainsFunc(value, func(r rune) bool {
		return (r < ' ' && r != '\t') || r == 0x7f
	})
}

func lines(header http.Header) string {
	var lines []string
	for name := range header {
		lines = append(lines, name+": "+header.Get(name))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// header is what the server is sent with every request.
func (s httpServer) header() http.Header {
	header := http.Header{}
	for line := range strings.SplitSeq(s.headers, "\n") {
		if name, value, found := strings.Cut(line, ": "); found {
			header.Set(name, value)
		}
	}
	return header
}

// parseTLS reads the certificates. What KEDA ignores without a word is used here, or
// there is a word.
func parseTLS(m *metadata.Map, modes []string, scheme string) httpTLS {
	t := httpTLS{ca: m.Text(caKey), unsafe: m.Flag(unsafeKey)}
	if slices.Contains(modes, authTLS) {
		t.cert, t.key = required(m, certKey, authTLS), required(m, keyKey, authTLS)
	}
	if t.ca != "" && t.unsafe {
		m.Warn("source.unsafeSsl: not used: ca says whom to trust")
		t.unsafe = false
	}
	if scheme == "https" && m.Has(metadata.Key{Name: "unsafeSsl"}) && !m.Has(unsafeKey) {
		m.Warn("unsafeSsl: is about the connection from KEDA to Dashpot; for the one to the source set source.unsafeSsl")
	}
	if (t.cert == "") != (t.key == "") { // which is reported
		return t
	}
	if _, err := t.config(); errors.Is(err, errAuthorities) {
		m.Problem(caKey, "")
	} else if err != nil {
		m.Problem(certKey, "")
	}
	return t
}

var errAuthorities = errors.New("no certificates in PEM")

// config is the settings as Go has them.
func (t httpTLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.unsafe} //nolint:gosec // the user's own choice
	if t.ca != "" {
		authorities, err := x509.SystemCertPool()
		if err != nil { // a system without any
			authorities = x509.NewCertPool()
		}
		if !authorities.AppendCertsFromPEM([]byte(t.ca)) {
			return nil, errAuthorities
		}
		config.RootCAs = authorities
	}
	if t.cert != "" {
		pair, err := tls.X509KeyPair([]byte(t.cert), []byte(t.key))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
