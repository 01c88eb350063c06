package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"strings"
)

// httpAnswer is what a server has answered. No error shows anything of it: it says what
// kind of answer it was, and how long.
type httpAnswer struct {
	status int
	body   []byte
	// moved says whereto a server sends on that is not followed; empty if it does not.
	moved string
}

func (a httpAnswer) success() bool { return a.status >= 200 && a.status <= 299 }

// refusal is the error of a status that is none of success, with the server's reason, or
// nil if it gives none.
func (a httpAnswer) refusal(reason error) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	switch {
	case a.moved != "":
		return fmt.Errorf("%s: redirected %s, which is not followed", status, a.moved)
	case reason != nil:
		return fmt.Errorf("%s: %w", status, reason)
	}
	return errors.New(status)
}

// described says what kind of answer it is and how long, as in "up to 4 KiB of text/html".
func (a httpAnswer) described() string {
	if len(bytes.TrimSpace(a.body)) == 0 {
		return "nothing"
	}
	kind := "JSON"
	if !json.Valid(a.body) { // the names of this list are Go's
		kind, _, _ = strings.Cut(http.DetectContentType(a.body), ";")
	}
	return size(len(a.body)) + " of " + kind
}

// size is a length, rounded up so that it stays the same where an answer has a time in it.
func size(length int) string {
	most := 1 << bits.Len(uint(max(length, 8)-1))
	if most < 1<<10 {
		return fmt.Sprintf("up to %d bytes", most)
	}
	return fmt.Sprintf("up to %d KiB", most>>10)
}

// away says how a redirect leads to where the credentials, which go with it, must not go;
// empty if it does not.
func away(from, to *url.URL) string {
	switch {
	case to.Hostname() != from.Hostname():
		return "to another host"
	case from.Scheme == "https" && to.Scheme != "https":
		return "out of TLS"
	}
	return ""
}
