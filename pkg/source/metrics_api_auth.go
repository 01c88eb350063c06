package source

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// authAPIKey is the authMode that only metrics-api has.
const authAPIKey = "apiKey"

const (
	inHeader = "header"
	inQuery  = "query"
)

var (
	apiAuthModesKey = metadata.Key{
		Name: "authModes", Aliases: []string{"authMode"},
		Format:  "one or more of apiKey, basic, bearer, tls, separated by commas, but not bearer and basic together",
		Meaning: "How to authenticate. What belongs to a mode that is not named is not sent.",
	}
	apiKeyKey = metadata.Key{
		Name: "apiKey", Secret: true,
		Meaning: "For authModes apiKey. Give it as apiKeyFromEnv.",
	}
	methodKey = metadata.Key{
		Name: "method", Choices: []string{inHeader, inQuery}, Default: inHeader,
		Meaning: "For authModes apiKey: whether the key is a header or a parameter.",
	}
	keyParamNameKey = metadata.Key{
		Name: "keyParamName", Format: "the name of a header or parameter",
		Meaning: "For authModes apiKey: the name. By default X-API-KEY in a header, api_key as a parameter.",
	}
)

var apiKeyMode = authMode{authAPIKey, []metadata.Key{apiKeyKey, methodKey, keyParamNameKey}}

// apiAuthKeys are the keys that say how to get into an API.
func apiAuthKeys() []metadata.Key {
	return []metadata.Key{
		apiAuthModesKey, apiKeyKey, methodKey, keyParamNameKey, bearerTokenKey, httpUsernameKey, httpPasswordKey,
		caKey, certKey, keyKey, unsafeKey,
	}
}

// parameterKey is an API key that is sent as a parameter; empty if there is none.
type parameterKey struct{ parameter, value string }

// authenticateAPI adds what the modes ask for to a header, or returns it. An API key goes
// together with any other mode.
func authenticateAPI(m *metadata.Map, header http.Header) (modes []string, key parameterKey) {
	modes = parseAuthModes(m, apiAuthModesKey, apiKeyMode, bearerMode, basicMode, tlsMode)
	if slices.Contains(modes, authAPIKey) {
		key = parseAPIKey(m, header)
	}
	authenticate(m, modes, header)
	return modes, key
}

// parseAPIKey adds the key to the header, or returns it where method is query.
func parseAPIKey(m *metadata.Map, header http.Header) parameterKey {
	value, name := required(m, apiKeyKey, authAPIKey), m.Text(keyParamNameKey)
	if m.Text(methodKey) == inQuery {
		return parameterKey{cmp.Or(name, "api_key"), value}
	}
	name = cmp.Or(name, "X-API-KEY")
	if !legalHeader(name, "") {
		m.Problem(keyParamNameKey, "")
	}
	if !legalHeader("Any", value) {
		k := apiKeyKey
		k.Format = "a text without line breaks"
		m.Problem(k, "")
	}
	header.Set(name, value)
	return parameterKey{}
}
