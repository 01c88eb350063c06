package source

import (
	"strings"
	"testing"
	"unicode"
)

func TestHide(t *testing.T) {
	tests := []struct {
		name       string
		secrets    secrets
		text, want string
	}{
		{"none", nil, "hunter2", "hunter2"},
		{"empty", secrets{""}, "hunter2", "hunter2"},
		{"everywhere", secrets{"hunter2"}, "hunter2, xhunter2x, HUNTER2", "***, x***x, ***"},
		{"one in another", secrets{"abcd", "abcdefgh"}, "abcdefgh abcd", "*** ***"},
		{"four bytes are hidden in a word", secrets{"name"}, "namespace", "***space"},
		{"three are not", secrets{"me", "1"}, `no tenant "me" in namespace 11 of 1, me: 1_1`, `no tenant "***" in namespace 11 of ***, ***: 1_1`},
		{"three that are no word", secrets{"#!"}, "a#!b", "a***b"},
		{"as JSON", secrets{`a"b\c`}, `{"x":"a\"b\\c"}`, `{"x":"***"}`},
		{"as HTML", secrets{"<a&b>"}, "&lt;a&amp;b&gt;", "***"},
		{"as a parameter and as a path", secrets{"a b/c+"}, "x=a+b%2Fc%2B a%20b%2Fc+", "x=*** ***"},
		{"as Latin-1", secrets{"gärtner"}, "gÃ¤rtner gärtner", "*** ***"},
		{"not UTF-8", secrets{"ab\xffcd\xfe"}, "ab\xffcd\xfe ab\ufffdcd\ufffd", "*** ***"},
		{"like a pattern", secrets{"a.*(b"}, "a.*(b aXX(b", "*** aXX(b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.secrets.hide(tt.text); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestExcerptHidesBeforeItCuts: of a secret at the end of an excerpt nothing is left.
func TestExcerptHidesBeforeItCuts(t *testing.T) {
	token := strings.Repeat("hunter2.", 100)
	for before := 190; before < 201; before++ {
		text := strings.Repeat("-", before) + token + token
		if got := (secrets{token}).excerpt(text); strings.Contains(got, "h") {
			t.Errorf("%d bytes before the secret: %s", before, got)
		}
	}
}

// TestHTTPSecrets: what is sent as one value may come back in parts.
func TestHTTPSecrets(t *testing.T) {
	tests := []struct {
		name    string
		changes values
		echo    string
		want    string
	}{
		{"credentials of the URL", values{"serverAddress": "http://mary:hunter2@prom"}, "Basic bWFyeTpodW50ZXIy, mary:hunter2; mary, hunter2", "***, ***; ***, ***"},
		{"bearer", values{"authModes": "bearer", "token": "hunter2"}, "Bearer hunter2: hunter2", "***: ***"},
		{"custom", values{"authModes": "custom", "customAuthHeader": "X-Mine", "customAuthValue": "hunter2"}, "x-mine: hunter2", "***: ***"},
		{"a header's own scheme", values{"customHeaders": "Authorization=Basic bWFyeTpodW50ZXIy"}, "Authorization: mary hunter2", "Authorization: *** ***"},
		{"tenant", values{"customHeaders": "X-Scope-OrgID=acme"}, "X-Scope-OrgID acme unknown", "X-Scope-OrgID *** unknown"},
		{"cookie", values{"customHeaders": "Cookie=session=hunter2hunter2; lang=de"}, "session hunter2hunter2 has ended", "session *** has ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := query(t, newTable(t), "prometheus", promql(tt.changes)).(promQuery)
			if got := q.at.Value().secrets().excerpt(tt.echo); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// FuzzExcerpt: of a secret of four bytes or more nothing that repeats it shows.
func FuzzExcerpt(f *testing.F) {
	for _, secret := range []string{"hunter2", "a", "\xff\xfe\xfd\xfc", `"\n`, "(?i)[", "İİ", "k\u212ak", "....", "***", "a b\tc"} {
		f.Add(secret, "other", "<p>", "</p>")
	}
	f.Fuzz(func(t *testing.T, secret, other, before, after string) {
		got := secrets{secret, other}.excerpt(before + secret + after)
		if strings.ContainsFunc(got, unicode.IsControl) || len(got) > 204 {
			t.Errorf("not a short line: %q", got)
		}
		if len(secret) >= shortSecret && !strings.Contains(before+"\x00"+after, secret) && strings.Trim(secret, "*…?\ufffd \t") == secret &&
			!strings.ContainsAny(secret, "*…") && strings.Contains(got, secret) && !strings.Contains(before+"***"+after, secret) {
			t.Errorf("%q shows in %q", secret, got)
		}
	})
}
