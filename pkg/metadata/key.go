package metadata

import (
	"math"
	"strconv"
	"strings"
)

// Kind is the type of a key's value.
type Kind int

// The kinds. Seconds accepts a plain number of seconds or a Go duration such as
// 1m30s. Mapping and List hold YAML.
const (
	Text Kind = iota
	Number
	Whole
	Seconds
	Flag
	Mapping
	List
)

// Key describes one entry of a map.
type Key struct {
	Name string
	// Aliases are other names for the same, tried in order after Name. At the top
	// level every name may also be given with the suffix FromEnv: KEDA has then put
	// the value of the named environment variable in its place.
	Aliases []string
	Kind    Kind
	// Range bounds a Number, Whole or Seconds.
	Range Range
	// Choices are the legal values of a Text; any if empty.
	Choices []string
	// Format says in words what is legal where Kind, Range and Choices do not.
	Format string
	// Default is the value of an absent key, as a user would write it.
	Default string
	// Required: an absent key is a problem.
	Required bool
	// Secret: the value never appears in a message.
	Secret bool
	// Fields describe the entries of a Mapping, or of each Mapping in a List.
	Fields []Key
	// Meaning says in one sentence what the key is for.
	Meaning string
}

// Range is an interval of numbers, both ends legal. The unit of a Seconds key's
// range is the second.
type Range struct{ Min, Max float64 }

// AtLeast is the range of all finite numbers from low.
func AtLeast(low float64) Range { return Range{low, math.Inf(1)} }

// Contains reports whether a number is finite and inside the range.
func (r Range) Contains(n float64) bool {
	return n >= r.Min && n <= r.Max && !math.IsInf(n, 0)
}

// String is the range in words: "from 1 to 300", "of at least 0".
func (r Range) String() string {
	if math.IsInf(r.Max, 1) {
		return "of at least " + plain(r.Min)
	}
	return "from " + plain(r.Min) + " to " + plain(r.Max)
}

// Legal says in words what values the key takes.
func (k Key) Legal() string {
	switch {
	case k.Format != "":
		return k.Format
	case k.Kind == Number:
		return "a number " + k.Range.String()
	case k.Kind == Whole:
		return "a whole number " + k.Range.String()
	case k.Kind == Seconds:
		return "seconds, or a duration such as 90s, " + k.Range.String() + " s"
	case k.Kind == Flag:
		return "true or false"
	case k.Kind == Mapping:
		return "a YAML mapping of " + fieldNames(k.Fields)
	case k.Kind == List:
		return "a YAML list of at least one mapping of " + fieldNames(k.Fields)
	case len(k.Choices) > 0:
		return "one of " + strings.Join(k.Choices, ", ")
	}
	return "a text that is not empty"
}

func fieldNames(fields []Key) string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	return strings.Join(names, ", ")
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
