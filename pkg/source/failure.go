package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/scaling"
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

// inWords is an error of a connection to a server that whoever wrote the trigger has
// chosen. Nothing that the server has said is in it: they would read by it what only
// Dashpot's pod can reach. What is shown are words of ours, and of Go's where it quotes
// nobody; address is where the server is, as the query's name has it, and unknown is said
// of every other error.
func inWords(err error, address, unknown string) error {
	if late(err) {
		return errLate
	}
	return failure{cmp.Or(wordsOf(err, address), unknown), err}
}

// wordsOf is empty for an error that may quote a server.
func wordsOf(err error, address string) string {
	var (
		several interface{ Unwrap() []error }
		denied  egress.DeniedError
		reply   redis.Error
		network *net.OpError
		lookup  *net.DNSError
		call    *os.SyscallError
	)
	switch {
	case errors.As(err, &several):
		return wordsOfAll(err.Error(), several.Unwrap(), address)
	case errors.As(err, &denied):
		return denied.Error()
	case errors.As(err, &reply):
		return replied(reply.Error())
	case errors.As(err, &network):
		// Without its endpoints: the local port is another one each time; and of a name
		// with several addresses, or of a cluster's nodes, so is the remote end.
		words := strings.TrimSpace(network.Op + " " + network.Net)
		cause := wordsOf(network.Err, address)
		if strings.HasSuffix(network.Op, "error") { // an alert of TLS, whose texts are Go's
			cause = network.Err.Error()
		}
		return strings.TrimSuffix(words+": "+cause, ": ")
	case errors.As(err, &lookup):
		name := lookup.Name
		if !strings.Contains(address, name) {
			name = "of a name that the server has given"
		}
		return "lookup " + name + ": " + endpoints.ReplaceAllString(lookup.Err, "$1: ")
	case errors.As(err, &call):
		return call.Error()
	}
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, http.ErrSchemeMismatch, context.Canceled} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if words := strings.Join(among(libraryWords, err.Error()), ", "); words != "" {
		return words
	}
	return tlsWords(err)
}

// noSentinel is what go-redis says before the errors of all sentinels.
const noSentinel = "redis: all sentinels specified in configuration are unreachable"

// libraryWords are those of go-redis that quote nobody.
var libraryWords = []string{noSentinel, "redis: cluster has no nodes"}

// wordsOfAll puts errors that were joined into one line. Those of sentinels that are asked
// at the same time come in any order.
func wordsOfAll(text string, joined []error, address string) string {
	all := make([]string, 0, len(joined))
	for _, err := range joined {
		if words := wordsOf(err, address); words != "" {
			all = append(all, words)
		}
	}
	slices.Sort(all)
	words := strings.Join(slices.Compact(all), "; ")
	if strings.Contains(text, noSentinel) {
		return strings.TrimSuffix(noSentinel+": "+words, ": ")
	}
	return words
}

// tlsWords are those of TLS. Go's own have the names in a certificate, and the time of day.
func tlsWords(err error) string {
	var (
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		refused *tls.CertificateVerificationError
	)
	const verify = "tls: failed to verify certificate: "
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf(verify+"x509: certificate is valid from %s to %s only",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
	case errors.As(err, &invalid):
		return verify + x509.CertificateInvalidError{Reason: invalid.Reason}.Error()
	case errors.As(err, &name):
		return verify + "x509: certificate is for other names than the one that was asked for"
	case errors.As(err, &unknown):
		return verify + x509.UnknownAuthorityError{}.Error()
	case errors.As(err, &refused):
		return verify + "for a reason that only the server's certificates show"
	case strings.HasPrefix(err.Error(), "tls: "), strings.HasPrefix(err.Error(), "remote error: tls: "):
		return "tls: no handshake, as where a server speaks no TLS or none of 1.2 or later"
	}
	return ""
}

// among are those of the known texts that a server's words have in them. It is the way to
// tell what a server means without showing anything that it says.
func among(known []string, said string) []string {
	var found []string
	for _, text := range known {
		if strings.Contains(said, text) {
			found = append(found, text)
		}
	}
	return found
}

var (
	// endpoints are those of a connection, as in "read tcp 10.0.0.1:54321->10.0.0.2:80: ".
	endpoints = regexp.MustCompile(`\b((?:dial|read|write|close|set) (?:tcp|udp)[46]?) \S+: `)
	// resolver is who was asked for an address, as in "lookup redis on 10.0.0.10:53: ".
	resolver = regexp.MustCompile(`\b(lookup \S+) on \S+: `)
	// moving finds what is another one in each answer of a server though it says the same:
	// times, durations that were measured, and the ids of requests.
	moving = regexp.MustCompile(
		`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?` +
			`|\b(?:\d+[hm])*\d+(?:\.\d+s|(?:\.\d+)?(?:ns|us|µs|ms))\b` +
			`|\b\d{10,}(?:\.\d+)?\b` +
			`|\b[0-9a-fA-F][0-9a-fA-F-]{15,}\b`)
)

// steady is an error of the cluster's own servers, which may be quoted, without what moves.
func steady(err error) error {
	if late(err) && !errors.Is(err, scaling.ErrUnobserved) {
		return errLate
	}
	words := endpoints.ReplaceAllString(err.Error(), "$1: ")
	words = resolver.ReplaceAllString(words, "$1: ")
	return failure{shortened(moving.ReplaceAllString(words, "…")), err}
}

// longestFailure keeps what is quoted in an error from filling a status.
const longestFailure = 1024

// shortened is a text on one line, of longestFailure bytes at most.
func shortened(text string) string {
	if len(text) > longestFailure {
		text = text[:longestFailure] + "…"
	}
	return oneLine(strings.ToValidUTF8(text, "?"))
}

// oneLine makes a space of each character that would end the line of a log. In PromQL
// they are white space.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
