package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
