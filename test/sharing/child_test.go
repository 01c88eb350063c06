//go:build e2e

// Package sharing checks what two scaler processes on one Redis promise each other:
// how often a source is read, that every answer is the pure Step over a stored record,
// that no caller ever sees an older record after a newer one, and that a hung source is
// nobody else's problem.
package sharing

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/externalscaler"
	"github.com/dashpot-project/dashpot/pkg/policy"
	"github.com/dashpot-project/dashpot/pkg/scaling"
	"github.com/dashpot-project/dashpot/pkg/source"
	"github.com/dashpot-project/dashpot/pkg/store/redisstore"
	"github.com/dashpot-project/dashpot/pkg/watch"
)

// childVariable makes this test binary a scaler process: the URL of the shared Redis.
const childVariable = "SHARING_REDIS"

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		if err := child(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// observation is what both processes, and the check, see of every workload. It stands
// still, so that an answer depends on nothing that the check cannot know.
var observation = scaling.Observation{
	Target: "apps/Deployment/worker", Spec: 10, Status: 10,
	Bounds: algorithm.Bounds{Min: 1, Max: 40}, ToZero: true,
}

// event is one line that a process writes: a record it stored, or a read it made.
type event struct {
	Key    string          `json:"key,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
	Read   string          `json:"read,omitempty"`
	Count  int             `json:"count,omitempty"`
}

// witness writes events to standard output, one JSON object a line.
type witness struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (w *witness) tell(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(e)
}

// child is one scaler process: the real parts, with a witness at the store, the source
// and the answer. Its first line is its address; it ends with its standard input.
func child(url string) error {
	store, err := redisstore.Open(url, redisstore.Options{Instance: "sharing"})
	if err != nil {
		return err
	}
	table := source.New(source.Options{Addresses: egress.Everywhere()})
	w := &witness{out: json.NewEncoder(os.Stdout)}
	watched := witnessedSource{table, w}
	evaluator := scaling.NewEvaluator(scaling.Options{
		Source: watched, Store: witnessedStore{store, w}, Observer: still{},
	})
	told := telling{evaluator}
	watcher := watch.New(told, watched, watch.Options{})
	server := externalscaler.NewServer(externalscaler.New(told, policy.Parser{Sources: table}, watcher, nil), externalscaler.Options{})
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.tell(event{Key: l.Addr().String()})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // returns when the parent is gone
		server.Stop()
	}()
	if err := server.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// still is a cluster in which nothing moves.
type still struct{}

func (still) Observe(context.Context, scaling.Ref, string) (scaling.Observation, error) {
	return observation, nil
}

type witnessedStore struct {
	scaling.Store
	w *witness
}

func (s witnessedStore) Swap(ctx context.Context, key scaling.Key, v scaling.Version, next scaling.Record, ttl time.Duration) (bool, error) {
	swapped, err := s.Store.Swap(ctx, key, v, next, ttl)
	if swapped || err != nil { // what was not answered in time may have been stored
		record, encodeErr := scaling.MarshalRecord(next)
		if encodeErr != nil {
			return swapped, encodeErr
		}
		s.w.tell(event{Key: key.String(), Record: record})
	}
	return swapped, err
}

type witnessedSource struct {
	scaling.Source
	w *witness
}

func (s witnessedSource) Read(ctx context.Context, queries []scaling.Query) []scaling.Outcome {
	for _, q := range queries {
		s.w.tell(event{Read: q.String()})
	}
	return s.Source.Read(ctx, queries)
}

// answer is what the check needs of a decision. It travels in the call's trailer.
type answer struct {
	Key      string          `json:"key"`
	At       time.Time       `json:"at"`
	From     time.Time       `json:"from"`
	Replicas int32           `json:"replicas"`
	Active   bool            `json:"active"`
	Value    algorithm.Milli `json:"value"`
	Held     bool            `json:"held"`
	Degraded bool            `json:"degraded"`
}

const answerTrailer = "answer"

type telling struct{ *scaling.Evaluator }

func (e telling) Answer(ctx context.Context, req scaling.Request) scaling.Answer {
	d := e.Evaluate(ctx, req)
	text, err := json.Marshal(answer{d.Key.String(), d.At, d.From, d.Replicas, d.Active, d.Value, d.Held != nil, d.Degraded})
	if err == nil {
		err = grpc.SetTrailer(ctx, metadata.Pairs(answerTrailer, string(text)))
	}
	if err != nil {
		panic(err) // the check would miss an answer
	}
	return scaling.Answer{Value: d.Value, Active: d.Active, Err: d.Err}
}
