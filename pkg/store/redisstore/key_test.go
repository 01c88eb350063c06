package redisstore

import (
	"net/url"
	"strings"
	"testing"

	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/store/storetest"
)

func TestRedisKey(t *testing.T) {
	key := scaling.Key{
		Ref:    scaling.Ref{Kind: "ScaledObject", Namespace: "shop", Name: "worker"},
		Target: "apps/Deployment/worker", Record: "redis-jobs",
	}
	const want = "dashpot:{prod/ScaledObject/shop/worker/apps/Deployment/worker/redis-jobs}"
	if got := (&Store{instance: "prod"}).redisKey(key); got != want {
		t.Errorf("redisKey = %s, want %s", got, want)
	}
}

// FuzzRedisKey reads each name back: what can be read back cannot collide.
func FuzzRedisKey(f *testing.F) {
	for _, k := range storetest.OddKeys() {
		f.Add("instance/{}", k.Kind, k.Namespace, k.Name, k.Target, k.Record)
	}
	f.Fuzz(func(t *testing.T, instance, kind, namespace, name, target, metric string) {
		key := scaling.Key{Ref: scaling.Ref{Kind: kind, Namespace: namespace, Name: name}, Target: target, Record: metric}
		got := (&Store{instance: instance}).redisKey(key)
		tag, ok := strings.CutPrefix(got, "dashpot:{")
		if end := strings.Index(tag, "}"); !ok || end != len(tag)-1 {
			t.Fatalf("%q: the hash tag is not all of the name", got)
		}
		parts := strings.Split(strings.TrimSuffix(tag, "}"), "/")
		for i, part := range parts {
			decoded, err := url.PathUnescape(part)
			if err != nil {
				t.Fatalf("%q: %v", got, err)
			}
			parts[i] = decoded
		}
		last := len(parts) - 1
		back := scaling.Key{
			Ref:    scaling.Ref{Kind: parts[1], Namespace: parts[2], Name: parts[3]},
			Target: strings.Join(parts[4:last], "/"), Record: parts[last],
		}
		if parts[0] != instance || back != key {
			t.Errorf("%q reads back as %q %+v, was %q %+v", got, parts[0], back, instance, key)
		}
	})
}
