package source

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// TestDecompressionBomb: 128 KiB of gzip that are 128 MiB of zeros is read to the
// limit of an answer, and no further.
func TestDecompressionBomb(t *testing.T) {
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(packer, zeros{}, 128<<20); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Error("it is not asked for in gzip, so this tests nothing")
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	t.Cleanup(server.Close)
	before := allocated()
	got := readTrigger(t, newTable(t), "metrics-api", values{"url": server.URL, "valueLocation": "jobs", "targetValue": "5"})
	if got.Err == nil || !strings.Contains(got.Err.Error(), "the answer is longer than 1048576 bytes") {
		t.Errorf("got %v, want it too long", got)
	}
	if grown := allocated() - before; grown > 64<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// laughs are lines of YAML each of which has the one before ten times.
func laughs(lines int) string {
	var text strings.Builder
	text.WriteString("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for i := 1; i < lines; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text.String()
}

// TestYAMLBomb: ten lines that stand for ten thousand million words are no answer.
func TestYAMLBomb(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, laughs(10)) }))
	t.Cleanup(server.Close)
	before := allocated()
	got := readTrigger(t, newTable(t), "metrics-api", values{"url": server.URL, "format": "yaml", "valueLocation": "a0", "targetValue": "5"})
	if got.Err == nil || !strings.Contains(got.Err.Error(), "YAML") {
		t.Errorf("got %v, want an answer that is no YAML", got)
	}
	if grown := allocated() - before; grown > 256<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

// TestNestingBomb: an answer that only opens, in each of the formats.
func TestNestingBomb(t *testing.T) {
	for format, opening := range map[string]string{formatJSON: "[", formatYAML: "[", formatXML: "<a>", formatPrometheus: "{"} {
		body := strings.Repeat(opening, maxTree/len(opening))
		got, err := find(format, httpAnswer{status: http.StatusOK, body: []byte(body)}, "a")
		if err == nil {
			t.Errorf("%s: got %v, want an error", format, got)
		}
	}
}
