package externalmetrics

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// TestLongErrorsAreCut: the HPA controller writes what it is told into the HPA's status.
func TestLongErrorsAreCut(t *testing.T) {
	long := fmt.Errorf("%w: prometheus %s", scaling.ErrNotRead, strings.Repeat("é", 150_000))
	text := toStatus("shop", "jobs", long).Error()
	if len(text) > maxWords+100 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-10:])
	}
}
