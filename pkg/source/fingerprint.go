package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// fingerprint tells apart what must not be read over the same connections. It is
// keyed, because it may turn up in a log and a bare hash of a password can be guessed. A
// nil salt is for what is no password and has to be the same in every process.
func fingerprint(salt []byte, secrets ...string) string {
	mac := hmac.New(sha256.New, salt)
	_, _ = fmt.Fprintf(mac, "%q", secrets)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
