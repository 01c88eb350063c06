package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// serveCommand is the first argument that makes this program a baseline: what is least to
// be done for an answer, in a process of its own, as the scaler is one.
const serveCommand = "serve"

// The baselines.
const (
	emptyHandler = "empty" // answers every call with the same value
	getHandler   = "get"   // sends one GET to Redis for a value
	relay        = "relay" // passes each message of the poke channel on to the stream it names
	lengthReader = "reads" // reads the lengths of lists as often as idle streams want it, and serves nobody
)

// serveBaseline is a baseline's process: of a kind, at an address, with a Redis.
func serveBaseline(ctx context.Context, arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("%s %v: want KIND ADDRESS REDIS", serveCommand, arguments)
	}
	kind, address := arguments[0], arguments[1]
	client := redis.NewClient(&redis.Options{Addr: arguments[2], DisableIdentity: true})
	defer client.Close() //nolint:errcheck // nothing is in flight
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	switch kind {
	case emptyHandler:
		pb.RegisterExternalScalerServer(server, empty{})
	case getHandler:
		pb.RegisterExternalScalerServer(server, getting{client: client})
	case relay:
		r := &relaying{streams: map[string]chan struct{}{}}
		go r.listen(client.Subscribe(ctx, pokeChannel))
		pb.RegisterExternalScalerServer(server, r)
	case lengthReader:
		go readLengths(ctx, client)
	default:
		return fmt.Errorf("%s %q: want one of %v", serveCommand, kind, []string{emptyHandler, getHandler, relay, lengthReader})
	}
	return server.Serve(listener)
}

// empty is the least that answers at all.
type empty struct {
	pb.UnimplementedExternalScalerServer
}

func (empty) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "redis-jobs-replicas", TargetSizeFloat: 1}}}, nil
}

func (empty) GetMetrics(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: "redis-jobs-replicas", MetricValueFloat: 7}}}, nil
}

func (empty) IsActive(context.Context, *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	return &pb.IsActiveResponse{Result: true}, nil
}

// getting is the least that answers from Redis: one GET, of a value as long as a record.
type getting struct {
	empty

	client *redis.Client
}

// recordOf is the key that the handler with one GET asks for.
func recordOf(namespace, name string) string { return "record/" + namespace + "/" + name }

func (g getting) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	object := request.GetScaledObjectRef()
	if err := g.client.Get(ctx, recordOf(object.GetNamespace(), object.GetName())).Err(); err != nil {
		return nil, err
	}
	return g.empty.GetMetrics(ctx, request)
}

// pokeChannel is where a poke is published.
const pokeChannel = "dashpot:poke"

// relaying passes on: nothing lies between the message and the stream.
type relaying struct {
	empty

	mu      sync.Mutex
	streams map[string]chan struct{}
}

func (r *relaying) StreamIsActive(object *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	poked := make(chan struct{}, 1)
	r.mu.Lock()
	r.streams[object.GetNamespace()+"/"+object.GetName()] = poked
	r.mu.Unlock()
	for {
		select {
		case <-poked:
			if err := stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (r *relaying) listen(subscription *redis.PubSub) {
	for message := range subscription.Channel() {
		r.mu.Lock()
		poked := r.streams[message.Payload]
		r.mu.Unlock()
		select {
		case poked <- struct{}{}:
		default: // nobody's, or told already
		}
	}
}

// readLengths asks for the length of each of 10,000 lists once a second, in pipelines of
// 500, as the watcher does, and does nothing else.
func readLengths(ctx context.Context, client *redis.Client) {
	const batch = 500
	var lists []string
	for i := range tenThousand {
		lists = append(lists, listOf(i))
	}
	batches := slices.Collect(slices.Chunk(lists, batch))
	ticker := time.NewTicker(time.Second / time.Duration(len(batches)))
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pipe := client.Pipeline()
		for _, list := range batches[n%len(batches)] {
			pipe.LLen(ctx, list)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return // Redis is gone, and the run with it
		}
	}
}

// storeRecords puts a value as long as a record where the handler with one GET looks.
func storeRecords(ctx context.Context, client *redis.Client, objects []*pb.ScaledObjectRef, length int) error {
	pipe := client.Pipeline()
	for _, o := range objects {
		pipe.Set(ctx, recordOf(o.Namespace, o.Name), strings.Repeat("r", length), 0)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// recordLength is how many bytes the record of a policy takes in Redis.
func recordLength(ctx context.Context, client *redis.Client) (int, error) {
	keys, _, err := client.Scan(ctx, 0, "dashpot:*", 1000).Result()
	if err != nil {
		return 0, err
	}
	if len(keys) == 0 {
		return 0, errors.New("there is no record in Redis")
	}
	record, err := client.HGet(ctx, keys[0], "record").Result()
	return len(record), err
}
