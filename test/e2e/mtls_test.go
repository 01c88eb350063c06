//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dashpot-project/dashpot/internal/process/certtest"
	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster/scenario"
)

// tlsName is the host in [cluster.Scalers.Target], for which KEDA wants the certificate.
const tlsName = "dashpot.test"

// tlsPair is a pair with a certificate on both ports, whose gRPC port asks for the client's.
type tlsPair struct {
	*pair

	secret  *certtest.Volume
	updates int
}

// newTLSPair starts a pair with the files of a Secret.
func newTLSPair(t *testing.T, server certtest.Pair, clients []byte) *tlsPair {
	t.Helper()
	p := &tlsPair{pair: &pair{state: redistest.Start(t)}, secret: certtest.NewVolume(t)}
	p.secret.Update(t, secretFiles(server, clients))
	var err error
	p.Scalers, err = env.cluster.StartScalers(t.Context(), env.scaler, 2, func(_ int, grpcAddr, httpAddr string) []string {
		return []string{
			"--grpc-address=" + grpcAddr, "--http-address=" + httpAddr, "--redis-url=" + p.state.URL(),
			"--kubeconfig=" + env.cluster.Kubeconfig(), "--observe=on", "--http-tls",
			"--tls-cert=" + p.secret.Path("tls.crt"), "--tls-key=" + p.secret.Path("tls.key"), "--tls-client-ca=" + p.secret.Path("ca.crt"),
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func secretFiles(pair certtest.Pair, authorities []byte) map[string][]byte {
	return map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": authorities}
}

// update changes the Secret of the servers, and returns when both have taken it up.
func (p *tlsPair) update(t *testing.T, server certtest.Pair, clients []byte) {
	t.Helper()
	p.secret.Update(t, secretFiles(server, clients))
	p.updates++
	for i := range 2 {
		taken := 0
		for deadline := time.Now().Add(kedaLimit); taken < p.updates; time.Sleep(200 * time.Millisecond) {
			log, err := env.cluster.Logs(p.LogName(i))
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("replica %d has taken up %d of %d changes, error %v", i, taken, p.updates, err)
			}
			taken = strings.Count(log, "certificates reloaded")
		}
	}
}

// endedStreams is how many push streams have ended at either replica.
func (p *tlsPair) endedStreams(t *testing.T, config *tls.Config) (ended int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	for i := range 2 {
		response, err := client.Get("https://" + p.HTTPAddr(i) + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %v: %s", response.Status, err, body)
		}
		for line := range strings.Lines(string(body)) {
			if strings.HasPrefix(line, "dashpot_rpc_duration_seconds_count") && strings.Contains(line, "StreamIsActive") {
				n, err := strconv.Atoi(strings.Fields(line)[1])
				if err != nil {
					t.Fatal(err)
				}
				ended += n
			}
		}
	}
	return ended
}

// mutualObject is a ScaledObject, and the certificates with which KEDA asks about it.
const mutualObject = `
apiVersion: v1
kind: Secret
metadata: {name: dashpot-client}
data: {ca.crt: {{.CA}}, tls.crt: {{.Cert}}, tls.key: {{.Key}}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  minReplicaCount: 0
  maxReplicaCount: 20
  pollingInterval: {{.Polling}}
  triggers:
  - type: {{.Kind}}
    authenticationRef: {name: dashpot-client}
    metadata:
      {{- range $key, $value := .Metadata}}
      {{$key}}: {{printf "%q" $value}}
      {{- end}}
`

// applyMutual applies a ScaledObject with a trigger of a kind, with what KEDA trusts and,
// unless it is empty, shows.
func (w *workload) applyMutual(kind string, authorities []byte, shown certtest.Pair, polling int) {
	w.T.Helper()
	authentication, err := os.ReadFile("../../examples/mutual-tls/authentication.yaml")
	if err != nil {
		w.T.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(authentication), "\n"), func(line string) bool {
		return len(shown.Cert) == 0 && strings.Contains(line, "parameter: tlsClient")
	})
	encode := base64.StdEncoding.EncodeToString
	err = env.cluster.ApplyTemplate(w.T.Context(), w.Namespace, strings.Join(lines, "")+"---"+mutualObject, map[string]any{
		"CA": encode(authorities), "Cert": encode(shown.Cert), "Key": encode(shown.Key),
		"Kind": kind, "Polling": polling, "Metadata": w.dashpot("jobs", nil).metadata,
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// tenMinutes is a pollingInterval that no scenario waits for.
const tenMinutes = 600

// testMutualTLS: who shows the right certificate is pushed a wake-up and scales; who shows
// none, or another's, or trusts another, is refused, and KEDA says so.
func testMutualTLS(t *testing.T) {
	ours, theirs := certtest.NewAuthority(t, "ours"), certtest.NewAuthority(t, "theirs")
	p := newTLSPair(t, ours.Issue(t, "scaler", tlsName), ours.PEM)
	mine, stolen := ours.Issue(t, "keda"), theirs.Issue(t, "keda")

	right := newWorkload(t, p.pair, 0)
	right.applyMutual("external-push", ours.PEM, mine, tenMinutes)
	kedaSide{t, right.Namespace}.external(scenario.Worker)
	r := right.Record()
	right.Steady(r, 5*time.Second, 0) // past KEDA's first poll
	right.Queue("jobs", 20)
	right.Await(4, kedaLimit)
	right.Expect(r, 0, 1, 4)

	for _, test := range []struct {
		name        string
		authorities []byte
		shown       certtest.Pair
		says        string
	}{
		{"no certificate", ours.PEM, certtest.Pair{}, "tls: certificate required"},
		{"another's certificate", ours.PEM, stolen, "tls: certificate required"}, // Go sends none that does not fit
		{"another authority", theirs.PEM, mine, "certificate signed by unknown authority"},
	} {
		w := newWorkload(t, p.pair, 0)
		w.Queue("jobs", 20)
		r := w.Record()
		w.applyMutual("external-push", test.authorities, test.shown, 1)
		w.awaitRefusal(test.name, test.says)
		w.Steady(r, 5*time.Second, 0)
	}
}

// awaitRefusal waits until KEDA calls the object not ready, and says why. KEDA 2.21 does so
// in its log: the Event that it makes of a new object's failure is one that Kubernetes 1.37
// refuses.
func (w *workload) awaitRefusal(name, why string) {
	w.T.Helper()
	keda := kedaSide{w.T, w.Namespace}
	ready, said := metav1.ConditionStatus(""), false
	for deadline := time.Now().Add(kedaLimit); ready != metav1.ConditionFalse || !said; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.T.Fatalf("%s: the condition Ready is %q; that %q was said: %v", name, ready, why, said)
		}
		ready = keda.condition(scenario.Worker, "Ready")
		log, err := env.cluster.Logs("keda-operator")
		if err != nil {
			w.T.Fatal(err)
		}
		for line := range strings.Lines(log) {
			said = said || strings.Contains(line, w.Namespace) && strings.Contains(line, why)
		}
	}
}

// rotation is what a change of the authority and of all certificates is tried on: an object
// with work, and two without. Of these, KEDA opens a stream for one only.
type rotation struct {
	*testing.T

	former, latter *certtest.Authority
	pair           *tlsPair

	awake, asleep, alone *workload
}

// trusting is the TLS of a client that knows both authorities and shows a certificate.
func (r rotation) trusting(shown ...certtest.Pair) *tls.Config {
	config := r.former.Client(r, shown...)
	config.RootCAs.AppendCertsFromPEM(r.latter.PEM)
	config.ServerName = tlsName
	return config
}

// testRotation exchanges authority and all certificates in three steps, as docs/tls.md has
// them, while KEDA, a client with one connection and one with ever new ones ask: no request
// fails, and no stream ends. At the end only the new certificates are let in.
func testRotation(t *testing.T) {
	former, latter := certtest.NewAuthority(t, "former"), certtest.NewAuthority(t, "latter")
	both := slices.Concat(former.PEM, latter.PEM)
	formerServer, latterServer := former.Issue(t, "scaler", tlsName), latter.Issue(t, "scaler", tlsName)
	formerKEDA, latterKEDA := former.Issue(t, "keda"), latter.Issue(t, "keda")
	p := newTLSPair(t, formerServer, former.PEM)
	r := rotation{t, former, latter, p, newWorkload(t, p.pair, 0), newWorkload(t, p.pair, 0), newWorkload(t, p.pair, 0)}
	r.awake.Queue("jobs", 20)
	r.apply(both, formerKEDA, tenMinutes)
	r.awake.Await(4, kedaLimit)

	conn := mutualConn(p.GRPCAddr(0), r.trusting(formerKEDA))
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*kedaLimit)
	defer cancel()
	stream, err := pb.NewExternalScalerClient(conn).StreamIsActive(ctx, r.alone.reference())
	if err != nil {
		t.Fatal(err)
	}
	var shown atomic.Pointer[tls.Config]
	shown.Store(r.trusting(formerKEDA))
	end := r.traffic(conn, &shown)

	p.update(t, formerServer, both) // 1. all know both authorities
	p.update(t, latterServer, both) // 2. new certificates, the servers'
	if ended := p.endedStreams(t, r.trusting()); ended != 0 {
		t.Errorf("%d push streams have ended; want none", ended)
	}
	shown.Store(r.trusting(latterKEDA)) // and the clients'
	r.apply(both, latterKEDA, tenMinutes+1)
	time.Sleep(20 * time.Second)          // KEDA has read its Secrets by then
	p.update(t, latterServer, latter.PEM) // 3. the former authority is known no more
	time.Sleep(5 * time.Second)
	end()

	r.refused(r.trusting(formerKEDA))
	r.asleep.Queue("jobs", 1)
	r.asleep.Await(1, kedaLimit)
	r.alone.Queue("jobs", 1)
	if event, err := stream.Recv(); err != nil || !event.GetResult() { // on a connection of the former certificate
		t.Errorf("the stream that was open throughout says %v, error %v; want a wake-up", event, err)
	}
	r.noComplaints()
}

// apply applies the objects. KEDA reads Secrets again when an object changes.
func (r rotation) apply(authorities []byte, shown certtest.Pair, polling int) {
	r.Helper()
	r.awake.applyMutual("external-push", authorities, shown, polling)
	r.asleep.applyMutual("external-push", authorities, shown, polling)
	r.alone.applyMutual("external", authorities, shown, polling)
}

// traffic begins requests for the object that is awake: on one connection, on ever new
// ones with the TLS of the moment, and by KEDA. What it returns ends it.
func (r rotation) traffic(one *grpc.ClientConn, shown *atomic.Pointer[tls.Config]) (end func()) {
	r.Helper()
	keda, ref := kedaSide{r.T, r.awake.Namespace}, r.awake.reference()
	metric, _ := keda.external(scenario.Worker)
	isActive := func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewExternalScalerClient(conn).IsActive(ctx, ref)
		return err
	}
	ends := []func(){
		steadily(r.T, "one connection", func(ctx context.Context) error { return isActive(ctx, one) }),
		steadily(r.T, "new connections", func(ctx context.Context) error {
			conn := mutualConn(r.pair.GRPCAddr(1), shown.Load())
			return errors.Join(isActive(ctx, conn), conn.Close())
		}),
		steadily(r.T, "KEDA's", func(context.Context) error {
			if got := keda.metric(scenario.Worker, metric); got != "20" { //nolint:contextcheck // it has the test's
				return errors.New(got)
			}
			return nil
		}),
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// refused wants that a new connection is. gRPC would sometimes know no more than that the
// connection broke, for it writes before it reads.
func (r rotation) refused(config *tls.Config) {
	r.Helper()
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", r.pair.GRPCAddr(0), config)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "tls: unknown certificate authority") {
		r.Errorf("a new connection with the former certificate: error %v; want that nobody knows its authority", err)
	}
}

// noComplaints wants that no Event says that something failed.
func (r rotation) noComplaints() {
	r.Helper()
	for _, w := range []*workload{r.awake, r.asleep, r.alone} {
		events, err := env.cluster.Events(r.Context(), w.Namespace, "ScaledObject", scenario.Worker)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range events {
			if e.Type != corev1.EventTypeNormal {
				r.Errorf("%s: %s", e.Reason, e.Message)
			}
		}
	}
}

// mutualConn is a connection to one replica, which is made when it is used.
func mutualConn(addr string, config *tls.Config) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		panic(err) // of a target that makes no sense
	}
	return conn
}

// steadily asks again and again. What it returns ends that, and fails the test for every
// request that failed.
func steadily(t *testing.T, what string, ask func(context.Context) error) (end func()) {
	t.Helper()
	var asked int
	var failures []string
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for ; ; asked++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := ask(ctx); err != nil {
				failures = append(failures, fmt.Sprintf("request %d at %s: %v", asked, time.Now().Format("15:04:05.000"), err))
			}
			cancel()
		}
	}()
	return func() {
		close(stop)
		<-ended
		t.Logf("%s: %d requests, %d failed", what, asked, len(failures))
		if asked == 0 || len(failures) > 0 {
			t.Errorf("%s: %d of %d requests failed\n%s", what, len(failures), asked, strings.Join(failures[:min(5, len(failures))], "\n"))
		}
	}
}

// reference is the workload's object as KEDA names it.
func (w *workload) reference() *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: w.Namespace, Name: scenario.Worker, ScalerMetadata: w.dashpot("jobs", nil).metadata}
}
