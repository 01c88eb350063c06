package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
)

func TestParsePoke(t *testing.T) {
	long := strings.Repeat("n", 253)
	for _, test := range []struct{ payload, namespace, name string }{
		{"shop/worker", "shop", "worker"},
		{"a/b.c-d.0", "a", "b.c-d.0"},
		{strings.Repeat("s", 63) + "/" + long, strings.Repeat("s", 63), long},
		{"", "", ""},
		{"/", "", ""},
		{"shop", "", ""},
		{"shop/", "", ""},
		{"/worker", "", ""},
		{"shop/worker/", "", ""},
		{"shop/worker/x", "", ""},
		{"shop//worker", "", ""},
		{" shop/worker", "", ""},
		{"shop/worker\n", "", ""},
		{"Shop/worker", "", ""},
		{"shop/wörker", "", ""},
		{"shop/\xff", "", ""},
		{strings.Repeat("s", 64) + "/" + long, "", ""},
	} {
		namespace, name, ok := parsePoke(test.payload)
		if !ok {
			namespace, name = "", ""
		}
		if namespace != test.namespace || name != test.name {
			t.Errorf("%q: %q, %q; want %q, %q", test.payload, namespace, name, test.namespace, test.name)
		}
	}
}

func FuzzParsePoke(f *testing.F) {
	f.Add("shop/worker")
	f.Add("a/b/c")
	f.Fuzz(func(t *testing.T, payload string) {
		namespace, name, ok := parsePoke(payload)
		if ok && (namespace+"/"+name != payload || strings.Count(payload, "/") != 1 || strings.ContainsAny(payload, " \n\r\t\x00")) {
			t.Errorf("%q was taken for %q and %q", payload, namespace, name)
		}
	})
}

// subscribe returns the pokes that a store receives.
func subscribe(t *testing.T, store *Store) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pokes, ended := make(chan string, 1000), make(chan error, 1)
	go func() {
		ended <- store.Subscribe(ctx, func(namespace, name string) { pokes <- namespace + "/" + name })
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Subscribe: %v; want context.Canceled", err)
			}
		case <-time.After(patient):
			t.Error("Subscribe did not end with its context")
		}
	})
	return pokes
}

// pokeUntilHeard publishes until the poke arrives: a subscriber that is just
// connecting hears nothing.
func pokeUntilHeard(t *testing.T, from *Store, name string, heard <-chan string) {
	t.Helper()
	eventually(t, "poke "+name, func() error {
		if err := from.Publish(t.Context(), "shop", name); err != nil {
			return err
		}
		for {
			select {
			case poke := <-heard:
				if poke == "shop/"+name {
					return nil
				}
			case <-time.After(50 * time.Millisecond):
				return errors.New("not heard")
			}
		}
	})
}

func TestPokes(t *testing.T) {
	group := redistest.StartSentinel(t)
	cluster := redistest.StartCluster(t)
	for name, url := range map[string]string{
		"single":   group.Primary.URL(),
		"sentinel": "redis-sentinel://" + group.Sentinel.Addr() + "?master=" + group.Name,
		"cluster":  "redis-cluster://" + strings.Join(cluster.Addrs(), ","),
	} {
		t.Run(name, func(t *testing.T) {
			from := open(t, url, patient)
			first, second := subscribe(t, open(t, url, patient)), subscribe(t, open(t, url, patient))
			pokeUntilHeard(t, from, "one", first)
			pokeUntilHeard(t, from, "two", second)
		})
	}
}

func TestSubscriberIgnoresNonsense(t *testing.T) {
	server := redistest.Start(t)
	from := open(t, server.URL(), patient)
	heard := subscribe(t, open(t, server.URL(), patient))
	pokeUntilHeard(t, from, "ready", heard)
	for _, payload := range []string{"", "nonsense", "shop/worker/x", "shop/w\nx", "shop/after"} {
		if err := from.client.Publish(t.Context(), pokeChannel, payload).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for poke := range heard {
		if poke == "shop/after" {
			break
		}
		if poke != "shop/ready" {
			t.Errorf("heard %q", poke)
		}
	}
}

func TestSubscriberSurvivesRestarts(t *testing.T) {
	server := redistest.Start(t)
	from := open(t, server.URL(), defaultTimeout)
	heard := subscribe(t, open(t, server.URL(), patient))
	for _, name := range []string{"one", "two", "three"} {
		pokeUntilHeard(t, from, "before-"+name, heard)
		server.Kill()
		server.Restart()
		pokeUntilHeard(t, from, "after-"+name, heard)
	}
}

// A silent connection has to prove itself: one whose other end is gone without a
// word never breaks.
func TestSubscriberNoticesASilentServer(t *testing.T) {
	dead, alive := redistest.Start(t), redistest.Start(t)
	proxy := startProxy(t, dead.Addr())
	from := open(t, alive.URL(), patient)
	subscriber := open(t, "redis://"+proxy.addr, patient)
	heard := subscribe(t, subscriber)
	pokeUntilHeard(t, open(t, dead.URL(), patient), "before", heard)
	proxy.redirect(alive.Addr())
	dead.Suspend()
	pokeUntilHeard(t, from, "after", heard)
	dead.Resume()
}

func TestPublishRefusesWhatNobodyWouldHear(t *testing.T) {
	store := open(t, "redis://127.0.0.1:1", defaultTimeout)
	for _, object := range [][2]string{{"", "worker"}, {"shop", ""}, {"shop", "a/b"}, {"shop", "a b"}} {
		err := store.Publish(t.Context(), object[0], object[1])
		if err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
			t.Errorf("Publish(%q, %q): error %v", object[0], object[1], err)
		}
	}
}
