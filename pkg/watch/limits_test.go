package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// A stream too many ends with an error that names the limit; when another has ended,
// there is room.
func TestStreamsAreLimited(t *testing.T) {
	options := exact()
	options.MaxStreams = 3
	run(t, options, func(b *bench) {
		clients := make([]*client, 5)
		for i := range clients {
			clients[i] = b.watch(fmt.Sprint("worker-", i%2), policyOf("redis/jobs")) // several of one object count
		}
		for _, refused := range clients[3:] {
			if err := refused.err; !errors.Is(err, scaling.ErrTooMany) || !strings.Contains(err.Error(), "the 3 that this process keeps open, see --max-streams") {
				t.Errorf("ended with %v", err)
			}
		}
		clients[0].cancel()
		b.at(1)
		late := b.watch("late", policyOf("redis/jobs"))
		b.set(func() { b.queues["redis/jobs"] = 1 })
		b.at(3)
		if late.err != nil || len(late.heard) == 0 {
			t.Errorf("a stream opened after another had ended: %v, heard %v", late.err, late.heard)
		}
	})
}

// A namespace that has all its streams takes none from another.
func TestOneStreamOfANamespace(t *testing.T) {
	options := exact()
	options.MaxPerNamespace = 1
	run(t, options, func(b *bench) {
		if first := b.watch("worker-1", policyOf("redis/jobs")); first.err != nil {
			t.Errorf("the first ended with %v", first.err)
		}
		if second := b.watch("worker-2", policyOf("redis/jobs")); !errors.Is(second.err, scaling.ErrTooMany) {
			t.Errorf("the second ended with %v", second.err)
		}
	})
}

func TestStreamsOfANamespaceAreLimited(t *testing.T) {
	options := exact()
	options.MaxPerNamespace = 2
	run(t, options, func(b *bench) {
		first, second := b.watch("worker-1", policyOf("redis/jobs")), b.watch("worker-2", policyOf("redis/jobs"))
		const why = "the 2 that this process keeps open of one namespace, see --max-per-namespace"
		if third := b.watch("worker-3", policyOf("redis/jobs")); !errors.Is(third.err, scaling.ErrTooMany) || !strings.Contains(third.err.Error(), why) {
			t.Errorf("the third of a namespace ended with %v", third.err)
		}
		ctx, cancel := context.WithCancel(b.t.Context())
		ended := make(chan error, 1)
		go func() {
			ref := scaling.Ref{Kind: scaling.KindScaledObject, Namespace: "other", Name: "worker"}
			ended <- b.Watch(ctx, ref, policyOf("redis/jobs"), func() error { return nil })
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("the first of another namespace ended with %v", <-ended)
		}
		cancel()
		first.cancel()
		b.at(1)
		if late := b.watch("late", policyOf("redis/jobs")); late.err != nil {
			t.Errorf("a stream opened after another had ended: %v", late.err)
		}
		if len(b.namespaces) != 1 || b.namespaces[refOf("").Namespace] != 2 || second.err != nil {
			t.Errorf("the count of streams is %v, the second ended with %v; want 2 and none", b.namespaces, second.err)
		}
	})
}
