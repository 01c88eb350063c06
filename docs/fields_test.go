package docs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// answerFields are the fields of a decision in JSON, in their order.
func answerFields() (names []string) {
	for field := range reflect.TypeFor[scaling.Explanation]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestFieldsAreDocumented: the table of decisions.md has the fields of the answer, in their
// order, and no others.
func TestFieldsAreDocumented(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "decisions.md"), "\n| field | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if got, want := captures("(?m)^\\| `(\\w+)` \\|", table), answerFields(); !slices.Equal(got, want) {
		t.Errorf("documented are\n%v, served\n%v", got, want)
	}
}
