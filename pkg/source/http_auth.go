package source

import (
	"encoding/base64"
	"net/http"
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

// parseAuthModes reads the modes, and warns of keys that belong to another.
func parseAuthModes(m *metadata.Map) []string {
	modes := fields(m.Text(authModesKey))
	for _, mode := range modes {
		if !slices.Contains([]string{authBearer, authBasic, authCustom, authTLS}, mode) {
			m.Problem(authModesKey, "")
			return nil
		}
	}
	bearer, basic := slices.Contains(modes, authBearer), slices.Contains(modes, authBasic)
	if bearer && basic {
		m.Problem(authModesKey, "")
		return nil
	}
	if slices.Contains(modes, authCustom) && (bearer || basic) {
		m.Warn("authModes: custom is not used beside bearer or basic, as in KEDA")
	}
	for _, belongs := range []struct {
		mode string
		keys []metadata.Key
	}{
		{authBearer, []metadata.Key{bearerTokenKey}},
		{authBasic, []metadata.Key{httpUsernameKey, httpPasswordKey}},
		{authCustom, []metadata.Key{customAuthHeaderKey, customAuthValueKey}},
		{authTLS, []metadata.Key{certKey, keyKey}},
	} {
		if !slices.Contains(modes, belongs.mode) {
			warnUnused(m, "authModes does not name "+belongs.mode, belongs.keys...)
		}
	}
	return modes
}

// authenticate adds what the modes ask for. As in KEDA it replaces a custom header of the
// same name, and of several modes one is used. It returns the name of the header of custom,
// if that is the one.
func authenticate(m *metadata.Map, modes []string, header http.Header) (credential string) {
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
		return name
	}
	return ""
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
