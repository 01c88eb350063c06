package source

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"

	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// The authModes that are served, in the order in which one goes before another.
const (
	authBearer = "bearer"
	authBasic  = "basic"
	authCustom = "custom"
	authTLS    = "tls"
)

var (
	authModesKey = metadata.Key{
		Name: "authModes", Aliases: []string{"authMode"},
		Format:  "one or more of bearer, basic, custom, tls, separated by commas, but not bearer and basic together",
		Meaning: "How to authenticate. What belongs to a mode that is not named is not sent.",
	}
	bearerTokenKey = metadata.Key{
		Name: "bearerToken", Aliases: []string{"token"}, Format: "a token without line breaks", Secret: true,
		Meaning: "For authModes bearer. Give it as bearerTokenFromEnv.",
	}
	httpUsernameKey     = metadata.Key{Name: "username", Secret: true, Meaning: "For authModes basic."}
	httpPasswordKey     = metadata.Key{Name: "password", Secret: true, Meaning: "For authModes basic. Give it as passwordFromEnv."}
	customAuthHeaderKey = metadata.Key{Name: "customAuthHeader", Secret: true, Format: "the name of a header", Meaning: "For authModes custom: the header to send."}
	customAuthValueKey  = metadata.Key{
		Name: "customAuthValue", Format: "a text without line breaks", Secret: true,
		Meaning: "For authModes custom: the header's value. Give it as customAuthValueFromEnv.",
	}
)

// authMode is a way to authenticate and the keys that belong to it.
type authMode struct {
	name string
	keys []metadata.Key
}

var (
	bearerMode = authMode{authBearer, []metadata.Key{bearerTokenKey}}
	basicMode  = authMode{authBasic, []metadata.Key{httpUsernameKey, httpPasswordKey}}
	customMode = authMode{authCustom, []metadata.Key{customAuthHeaderKey, customAuthValueKey}}
	tlsMode    = authMode{authTLS, []metadata.Key{certKey, keyKey}}
)

// parseAuthModes reads the modes, which are some of the legal ones, and warns of keys that
// belong to another.
func parseAuthModes(m *metadata.Map, k metadata.Key, legal ...authMode) []string {
	modes := fields(m.Text(k))
	names := func(mode string) bool { return slices.Contains(modes, mode) }
	isLegal := func(mode string) bool {
		return slices.ContainsFunc(legal, func(l authMode) bool { return l.name == mode })
	}
	if slices.ContainsFunc(modes, func(mode string) bool { return !isLegal(mode) }) || (names(authBearer) && names(authBasic)) {
		m.Problem(k, "")
		return nil
	}
	if names(authCustom) && (names(authBearer) || names(authBasic)) {
		m.Warn("authModes: custom is not used beside bearer or basic, as in KEDA")
	}
	for _, mode := range legal {
		if !names(mode.name) {
			warnUnused(m, "authModes does not name "+mode.name, mode.keys...)
		}
	}
	return modes
}

// authenticateByURL adds the credentials in a URL, unless a custom header has some.
func authenticateByURL(u *url.URL, header http.Header) {
	if u.User != nil && header.Get("Authorization") == "" {
		password, _ := u.User.Password()
		header.Set("Authorization", basic(u.User.Username(), password))
	}
}

// authenticate adds what the modes ask for. As in KEDA it replaces a custom header of the
// same name, and of several modes one is used.
func authenticate(m *metadata.Map, modes []string, header http.Header) {
	switch {
	case slices.Contains(modes, authBearer):
		token := required(m, bearerTokenKey, authBearer)
		if !legalHeader("Authorization", token) {
			m.Problem(bearerTokenKey, "")
		}
		header.Set("Authorization", "Bearer "+token)
	case slices.Contains(modes, authBasic):
		header.Set("Authorization", basic(required(m, httpUsernameKey, authBasic), m.Text(httpPasswordKey)))
	case slices.Contains(modes, authCustom):
		name, value := required(m, customAuthHeaderKey, authCustom), required(m, customAuthValueKey, authCustom)
		if name != "" && !legalHeader(name, "") {
			m.Problem(customAuthHeaderKey, "")
		}
		if !legalHeader("Any", value) {
			m.Problem(customAuthValueKey, "")
		}
		header.Set(name, value)
	}
}

// required reads a key that an authentication mode cannot do without.
func required(m *metadata.Map, k metadata.Key, mode string) string {
	if !m.Has(k) {
		m.Problem(k, "authModes names "+mode)
	}
	return m.Text(k)
}

func basic(username, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}
