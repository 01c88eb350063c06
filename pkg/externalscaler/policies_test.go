package externalscaler

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// counting parses the key "list" into the metric, and counts.
type counting struct{ parsed atomic.Int64 }

func (c *counting) Parse(metadata map[string]string) *scaling.Policy {
	c.parsed.Add(1)
	return &scaling.Policy{Metric: metadata["list"]}
}

func list(name string) map[string]string {
	return map[string]string{"list": name, "address": "redis:6379"}
}

func TestPolicyIsParsedOnce(t *testing.T) {
	parser := &counting{}
	cache := newPolicyCache(parser, 1000)
	first := cache.Parse(list("jobs"))
	for range 10 {
		if cache.Parse(list("jobs")) != first {
			t.Fatal("equal metadata gave another policy")
		}
	}
	if cache.Parse(list("mails")).Metric != "mails" || parser.parsed.Load() != 2 {
		t.Errorf("parsed %d times, want once per distinct metadata", parser.parsed.Load())
	}
}

// What is asked for all the time survives any number of others, which are
// forgotten: the cache is bounded.
func TestPolicyCacheIsBounded(t *testing.T) {
	parser := &counting{}
	cache := newPolicyCache(parser, 1000)
	kept := cache.Parse(list("kept"))
	padding := strings.Repeat("x", 10_000)
	for i := range 10_000 {
		cache.Parse(list(padding + strconv.Itoa(i)))
		if cache.Parse(list("kept")) != kept {
			t.Fatalf("forgot a policy in use after %d others", i)
		}
	}
	if entries, most := len(cache.young)+len(cache.old), 2*cache.budget/10_000; entries > most {
		t.Errorf("%d policies kept, want %d at most", entries, most)
	}
	if parser.parsed.Load() != 10_001 {
		t.Errorf("parsed %d times, want 10001", parser.parsed.Load())
	}
}

// What nobody asks for in two generations is forgotten, though nothing fills them.
func TestIdlePoliciesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parser := &counting{}
		cache := newPolicyCache(parser, 1000)
		first := cache.Parse(list("used"))
		cache.Parse(list("idle"))
		for range 3 {
			time.Sleep(generation)
			if cache.Parse(list("used")) != first {
				t.Error("what is used was parsed anew")
			}
		}
		if kept := len(cache.young) + len(cache.old); kept != 2 { // it stands in both
			t.Errorf("%d entries are kept, want the one in use, in two generations", kept)
		}
	})
}

// A limit of few policies has room for large ones.
func TestFewLargePoliciesAreKept(t *testing.T) {
	parser := &counting{}
	cache := newPolicyCache(parser, 10)
	for range 3 {
		for i := range 10 {
			cache.Parse(list(strconv.Itoa(i) + strings.Repeat("x", maxKept-100)))
		}
	}
	if parser.parsed.Load() != 10 {
		t.Errorf("parsed %d times, want 10", parser.parsed.Load())
	}
}

func TestLargeMetadataIsNotKept(t *testing.T) {
	cache := newPolicyCache(&counting{}, 1000)
	for _, size := range []int{maxKept, maxKept + 1} {
		if cache.Parse(map[string]string{"list": strings.Repeat("x", size-len("list"))}) == nil {
			t.Errorf("%d bytes: no policy", size)
		}
	}
	if len(cache.young) != 1 {
		t.Errorf("%d policies kept, want the one within the limit", len(cache.young))
	}
}

func TestPolicyCacheIsConcurrent(t *testing.T) {
	cache := newPolicyCache(&counting{}, 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				name := strconv.Itoa(i % 50)
				if got := cache.Parse(list(name)).Metric; got != name {
					t.Errorf("asked for %s, got the policy of %s", name, got)
				}
			}
		})
	}
	wg.Wait()
}

// Two maps have one canonical text exactly when they are equal.
func FuzzCanonical(f *testing.F) {
	f.Add("a", "b", "c", "d", "a", "b", "c", "d")
	f.Add("a", "bc", "", "", "ab", "c", "", "")
	f.Add("a", "1:b", "c", "", "a", "", "1:b", "c")
	f.Add("a", "x0:b0:y", "a", "x0:b0:y", "a", "x", "b", "y")
	f.Add("a", "x1:b1:y", "a", "x1:b1:y", "a", "x", "b", "y")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3, k4, v4 string) {
		one, two := map[string]string{k1: v1, k2: v2}, map[string]string{k3: v3, k4: v4}
		if got, want := canonical(one) == canonical(two), maps.Equal(one, two); got != want {
			t.Errorf("%q and %q: equal texts %t, equal maps %t", one, two, got, want)
		}
	})
}

func BenchmarkCachedPolicy(b *testing.B) {
	cache := newPolicyCache(&counting{}, 1000)
	metadata := map[string]string{
		"scalerAddress": "dashpot.dashpot.svc:9090", "source": "redis", "address": "redis.shop.svc:6379",
		"listName": "jobs", "listLength": "5", "activationListLength": "0", "databaseIndex": "2",
		"behavior": strings.Repeat("b", 300),
	}
	for b.Loop() {
		cache.Parse(metadata)
	}
}
