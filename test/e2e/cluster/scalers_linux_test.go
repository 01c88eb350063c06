package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// kedaServiceConfig is the one that KEDA gives to its connections.
const kedaServiceConfig = `{"loadBalancingConfig": [{"round_robin":{}}]}`

// TestTargetReachesEveryReplica calls the scalers as KEDA does.
func TestTargetReachesEveryReplica(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &Cluster{dir: t.TempDir()}
	if err := os.Mkdir(c.logDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	scalers := startFakeScalers(ctx, t, c)
	conn, err := grpc.NewClient(scalers.Target(), grpc.WithDefaultServiceConfig(kedaServiceConfig),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	calling, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for calling.Err() == nil {
			_, _ = pb.NewExternalScalerClient(conn).IsActive(calling, &pb.ScaledObjectRef{}, grpc.WaitForReady(true))
		}
	}()
	checkFaults(ctx, t, scalers)
}

func startFakeScalers(ctx context.Context, t *testing.T, c *Cluster) *Scalers {
	t.Helper()
	scalers, err := c.StartScalers(ctx, os.Args[0], 2, func(_ int, grpcAddr, httpAddr string) []string {
		return []string{fakeScalerCommand, grpcAddr, httpAddr}
	})
	if err != nil {
		t.Fatal(err)
	}
	return scalers
}

// checkFaults wants calls to arrive at both replicas, and at the one that is
// left while the other is gone.
func checkFaults(ctx context.Context, t *testing.T, scalers *Scalers) {
	t.Helper()
	awaitCalls(ctx, t, scalers, 0)
	awaitCalls(ctx, t, scalers, 1)
	scalers.Kill(0)
	awaitCalls(ctx, t, scalers, 1)
	if err := scalers.Restart(ctx, 0); err != nil {
		t.Fatal(err)
	}
	scalers.Term(1)
	awaitCalls(ctx, t, scalers, 0)
}

// awaitCalls waits until KEDA has called a replica from now on.
func awaitCalls(ctx context.Context, t *testing.T, scalers *Scalers, i int) {
	t.Helper()
	before, err := calls(ctx, scalers, i)
	if err != nil {
		t.Fatal(err)
	}
	err = eventually(ctx, func(ctx context.Context) error {
		now, err := calls(ctx, scalers, i)
		if err == nil && now == before {
			err = fmt.Errorf("replica %d: no call after %d", i, before)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func calls(ctx context.Context, scalers *Scalers, i int) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+scalers.HTTPAddr(i), http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(body))
}
