package metadata

import (
	"math/rand/v2"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"host", "port", "hosts", "listName", "listLength", "activationListLength"}
	tests := []struct{ name, want string }{
		{"listName", "listName"},
		{"ListName", "listName"},
		{"listNames", "listName"},
		{"listNam", "listName"},
		{"lsitName", "listName"}, // two swapped
		{"listNaem", "listName"},
		{"lisName2", "listName"},
		{"lisNme2", ""},
		{"hots", "host"},
		{"prot", "port"},
		{"post", "host"}, // one letter from either: the first
		{"most", "host"},
		{"part", "port"},
		{"cost", "host"},
		{"name", ""}, // two letters off would be another word
		{"", ""},
		{"activationListLengths", "activationListLength"},
	}
	for _, tt := range tests {
		if got := Nearest(tt.name, known); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestTyposAgainstDefinition compares with the recursive definition, over words of
// three letters of an alphabet so small that everything happens.
func TestTyposAgainstDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		letters := make([]byte, random.IntN(7))
		for i := range letters {
			letters[i] = "abc"[random.IntN(3)]
		}
		return string(letters)
	}
	for range 20_000 {
		a, b := word(), word()
		got, want := typos(a, b), typosByDefinition(a, b)
		if min(got, maxTypos+1) != min(want, maxTypos+1) {
			t.Fatalf("typos(%q, %q) = %d, want %d", a, b, got, want)
		}
	}
}

func typosByDefinition(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	x, y := len(a)-1, len(b)-1
	wrong := 1
	if a[x] == b[y] {
		wrong = 0
	}
	least := min(typosByDefinition(a[:x], b)+1, typosByDefinition(a, b[:y])+1, typosByDefinition(a[:x], b[:y])+wrong)
	if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
		least = min(least, typosByDefinition(a[:x-1], b[:y-1])+1)
	}
	return least
}
