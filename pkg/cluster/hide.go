package cluster

import (
	"strconv"
	"strings"
)

const (
	// hidden stands in a message where a value was.
	hidden = "(hidden)"
	// recognised is how many bytes of a value are looked for in a message, which may
	// have shortened the rest.
	recognised = 16
	// tooShort is a value that is looked for in quotes only: a 5 is in any message with
	// a number.
	tooShort = 4
)

// hide takes a value that came from a Secret out of a message, which is read by people
// who may not read the Secret. A message quotes what stands under a key that usually is
// no secret, such as address, and may have shortened it.
func hide(message, value string) string {
	if value == "" {
		return message
	}
	quoted := strconv.Quote(value)
	if len(value) < tooShort {
		return strings.ReplaceAll(message, quoted, hidden)
	}
	message = hideSpelling(message, value)
	if escaped := quoted[1 : len(quoted)-1]; escaped != value {
		message = hideSpelling(message, escaped)
	}
	return message
}

// hideSpelling replaces every run of bytes that begins as the value does, for as far as
// it goes on as the value does.
func hideSpelling(message, value string) string {
	head := value[:min(len(value), recognised)]
	var shown strings.Builder
	for {
		before, rest, found := strings.Cut(message, head)
		shown.WriteString(before)
		if !found {
			return shown.String()
		}
		shown.WriteString(hidden)
		tail := value[len(head):]
		for rest != "" && tail != "" && rest[0] == tail[0] {
			rest, tail = rest[1:], tail[1:]
		}
		message = rest
	}
}
