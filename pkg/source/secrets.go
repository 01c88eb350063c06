package source

import (
	"cmp"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// secrets are texts that a server was sent and that no message may show. A server's own
// words may repeat them: some echo a request's headers when they refuse it.
type secrets []string

// shortSecret is the length in bytes below which a secret is hidden as a whole word only.
// One of three letters is part of many words: to hide the user "me" everywhere would make
// "na***space" of namespace. It is not left alone either, because it may be a tenant.
const shortSecret = 4

const hidden = "***"

// hide puts *** in the place of each secret, in upper or lower case and as servers spell
// texts in JSON, in HTML and in URLs.
func (s secrets) hide(text string) string {
	var spellings []string
	for _, secret := range s {
		spellings = append(spellings, spelled(secret)...)
	}
	spellings = slices.DeleteFunc(spellings, func(s string) bool { return s == "" })
	if len(spellings) == 0 {
		return text
	}
	// The longest first, so that nothing is left of a secret that contains another.
	slices.SortFunc(spellings, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	spellings = slices.Compact(spellings)
	for i, spelling := range spellings {
		spellings[i] = pattern(spelling)
	}
	return regexp.MustCompile("(?i)"+strings.Join(spellings, "|")).ReplaceAllLiteralString(valid(text), hidden)
}

// spelled is a text in all spellings. They are valid UTF-8, as decoding JSON makes them
// too, and a pattern has to be.
func spelled(text string) []string {
	quoted := strconv.Quote(valid(text))
	runes := make([]rune, len(text))
	for i := range len(text) { // headers are Latin-1 to some
		runes[i] = rune(text[i])
	}
	return []string{
		valid(text), string(runes), quoted[1 : len(quoted)-1],
		html.EscapeString(valid(text)), url.QueryEscape(text), url.PathEscape(text),
	}
}

func valid(text string) string { return string([]rune(text)) }

// pattern finds a text, and a short one only where no word goes on at its ends.
func pattern(text string) string {
	quoted := regexp.QuoteMeta(text)
	if len(text) >= shortSecret {
		return quoted
	}
	if wordAt(text[0]) {
		quoted = `\b` + quoted
	}
	if wordAt(text[len(text)-1]) {
		quoted += `\b`
	}
	return quoted
}

func wordAt(b byte) bool {
	return b == '_' || (b < unicode.MaxASCII && (unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))))
}

// moving finds what is another one in each answer of a server though it says the same:
// times, durations that were measured, and the ids of requests. A failure's words must
// stay the same.
var moving = regexp.MustCompile(
	`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?` +
		`|\b(?:\d+[hm])*\d+(?:\.\d+s|(?:\.\d+)?(?:ns|us|µs|ms))\b` +
		`|\b\d{10,}(?:\.\d+)?\b` +
		`|\b[0-9a-fA-F][0-9a-fA-F-]{15,}\b`)

// excerpt is the beginning of what a server says that was sent the secrets, on one line
// and without what moves.
func (s secrets) excerpt(text string) string {
	const most = 200
	if text == "" {
		return ""
	}
	text = endpoints.ReplaceAllString(s.hide(text), "$1: ") // a proxy's own failure
	return shortened(moving.ReplaceAllString(text, "…"), most)
}

// shortened is a text on one line, at most so many bytes of it. What must not show has
// to be hidden before: of a secret that is cut in two, the first half would be left.
func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
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
