package source

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
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
	// credential is one that is none of the headers' values and must not show either: the
	// name of the header of authModes custom, which comes from a Secret as the value does, or
	// an API key that is sent as a parameter.
	credential string
	tls        httpTLS
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
	base := parseBase(m, address)
	modes := parseAuthModes(m)
	header := parseHeaders(m)
	if base.User != nil && header.Get("Authorization") == "" {
		header.Set("Authorization", basic(base.User.Username(), password(base.User)))
	}
	credential := authenticate(m, modes, header)
	base.User = nil
	s := httpServer{
		base: strings.TrimRight(base.String(), "/"), headers: lines(header), credential: credential,
		tls: parseTLS(m, modes, base.Scheme),
	}
	s.id = s.base + "#" + fingerprint(salt, s.headers, s.credential, s.tls.fingerprint(salt))
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

// parseBase reads a URL, which may have a path and credentials. It never returns nil.
func parseBase(m *metadata.Map, k metadata.Key) *url.URL {
	text := m.Text(k)
	if text == "" { // which is reported
		return &url.URL{}
	}
	base, err := url.Parse(text)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Hostname() == "" ||
		base.RawQuery != "" || base.ForceQuery || base.Fragment != "" || !legalURLPort(base) {
		k.Secret = strings.Contains(text, "@") // nobody can say where in it the password is
		m.Problem(k, "")
		return &url.URL{}
	}
	return base
}

func legalURLPort(u *url.URL) bool {
	return legalPort(u.Port()) || (u.Port() == "" && !strings.HasSuffix(u.Host, ":"))
}

func password(user *url.Userinfo) string {
	text, _ := user.Password()
	return text
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

// secrets are what header has that came, or may have come, from a Secret: each value, what
// it has behind a scheme such as Bearer, the user and password inside of Basic, and what
// else may be a key within it, as in the value of a Cookie. Names of headers are none, but
// for that of authModes custom.
func (s httpServer) secrets() secrets {
	sent := secrets{s.credential}
	for line := range strings.SplitSeq(s.headers, "\n") {
		_, value, _ := strings.Cut(line, ": ")
		scheme, credentials, _ := strings.Cut(value, " ")
		sent = append(sent, value, credentials)
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" ;,=\"", r) }) {
			if len(part) >= 2*shortSecret {
				sent = append(sent, part)
			}
		}
		if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
			username, password, _ := strings.Cut(string(pair), ":")
			sent = append(sent, string(pair), username, password)
		}
	}
	return sent
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
