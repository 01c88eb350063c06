package source

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// failure is an error in words that stay the same as long as the fault does. Whoever
// shows them, in a status for one, writes only when they change: a number that moves,
// such as a local port, would make each read of a dead server a write.
type failure struct {
	words string
	cause error
}

func (f failure) Error() string { return f.words }
func (f failure) Unwrap() error { return f.cause }

// longestFailure keeps what is quoted somewhere in an error, such as a header that is
// none, from filling a status. The longest of Go's own, about the names in a
// certificate, are shorter.
const longestFailure = 1024

// errLate is the error of whatever took too long. Which of the deadlines on the way was
// the first to be noticed, that of the dial, of the connection or of the caller, is chance.
var errLate error = failure{"no answer in time", context.DeadlineExceeded}

// noAnswer is the error of a question that nobody waits for any longer.
func noAnswer(cause error) error {
	if late(cause) {
		return errLate
	}
	return fmt.Errorf("no answer: %w", cause)
}

// late reports whether a deadline has ended what failed.
func late(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) ||
		(errors.As(err, &network) && network.Timeout())
}

var (
	// endpoints are those of a connection, as in "read tcp 10.0.0.1:54321->10.0.0.2:80: ".
	// The local port is another one each time; and of a name with several addresses, or of
	// a cluster's nodes, so is the remote end. The query's name says where the server is.
	endpoints = regexp.MustCompile(`\b((?:dial|read|write|close|set) (?:tcp|udp)[46]?) \S+: `)
	// resolver is who was asked for an address, as in "lookup redis on 10.0.0.10:53: ".
	resolver = regexp.MustCompile(`\b(lookup \S+) on \S+: `)
)

// inWords is an error of a connection to a server that was sent some secrets.
func inWords(err error, sent secrets) error {
	if late(err) {
		return errLate
	}
	words := err.Error()
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		words = sortLines(words, joined.Unwrap())
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired { // Go's words have the time
		words = strings.ReplaceAll(words, invalid.Error(), fmt.Sprintf("x509: certificate is valid from %s to %s only",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339)))
	}
	words = endpoints.ReplaceAllString(words, "$1: ")
	words = resolver.ReplaceAllString(words, "$1: ")
	return failure{shortened(sent.hide(words), longestFailure), err}
}

// sortLines puts errors that were joined, each in a line of its own, into one line. Those
// of sentinels that are asked at the same time come in any order.
func sortLines(words string, joined []error) string {
	lines := make([]string, len(joined))
	for i, err := range joined {
		lines[i] = err.Error()
	}
	before := strings.Join(lines, "\n")
	for i, line := range lines {
		lines[i] = endpoints.ReplaceAllString(line, "$1: ")
	}
	slices.Sort(lines)
	return strings.ReplaceAll(words, before, strings.Join(slices.Compact(lines), "; "))
}
