package process

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

var leaseName = types.NamespacedName{Namespace: "dashpot", Name: "adapter"}

// election is an API server, and who leads by it.
type election struct {
	client *fake.Clientset
	// away: the server does not answer.
	away atomic.Bool

	mu    sync.Mutex
	leads map[string]bool
	// terms are who led, one after the other.
	terms []string
	most  int
}

// newElection has a server that refuses an update of what has changed meanwhile.
func newElection() *election {
	e := &election{client: fake.NewClientset(), leads: map[string]bool{}}
	var version atomic.Int64
	e.client.PrependReactor("update", "leases", func(action k8stesting.Action) (bool, runtime.Object, error) {
		update, _ := action.(k8stesting.UpdateAction)
		lease, _ := update.GetObject().(*coordinationv1.Lease)
		stored, err := e.client.Tracker().Get(action.GetResource(), lease.Namespace, lease.Name)
		if err != nil {
			return true, nil, err
		}
		if old, _ := stored.(*coordinationv1.Lease); old.ResourceVersion != lease.ResourceVersion {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), lease.Name, errors.New("changed"))
		}
		lease.ResourceVersion = strconv.FormatInt(version.Add(1), 10)
		return false, nil, nil
	})
	e.client.PrependReactor("*", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		return e.away.Load(), nil, apierrors.NewServiceUnavailable("gone fishing")
	})
	return e
}

// stand has one stand for election; leads until its context ends, and then for lingers.
func (e *election) stand(ctx context.Context, identity string, lingers time.Duration) error {
	return Lead(ctx, e.client, leaseName, identity, slog.New(slog.NewTextHandler(io.Discard, nil)), func(ctx context.Context) error {
		e.note(identity, true)
		<-ctx.Done()
		time.Sleep(lingers)
		e.note(identity, false)
		return ctx.Err()
	})
}

func (e *election) note(identity string, leads bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if leads {
		e.leads[identity] = true
		e.terms = append(e.terms, identity)
	} else {
		delete(e.leads, identity)
	}
	e.most = max(e.most, len(e.leads))
}

func (e *election) termsSoFar() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.terms)
}

// candidate stands until it is told to go.
func (e *election) candidate(t *testing.T, identity string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.stand(ctx, identity, time.Second) }()
	leave = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Lead of %s: %v", identity, err)
		}
	})
	t.Cleanup(leave)
	return leave
}

func holder(t *testing.T, e *election) string {
	t.Helper()
	lease, err := e.client.CoordinationV1().Leases(leaseName.Namespace).Get(t.Context(), leaseName.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

// One of two leads, for as long as it is there. When it goes, it ends its work, then
// frees the Lease, and the other one follows at its next try, not after 15 s.
func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection()
		leave := map[string]func(){}
		for _, name := range []string{"a", "b", "c"} {
			leave[name] = e.candidate(t, name)
		}
		time.Sleep(10 * time.Minute)
		visitor := e.candidate(t, "visitor")
		time.Sleep(time.Second)
		visitor() // it has led nobody, and leaves the Lease to its holder
		for term := 1; term <= 3; term++ {
			if n := e.termsSoFar(); n != term {
				t.Fatalf("there were terms of %v, want %d", e.terms, term)
			}
			leader := e.terms[term-1]
			if h := holder(t, e); h != leader {
				t.Errorf("%q leads, %q holds the Lease", leader, h)
			}
			leave[leader]()
			if h := holder(t, e); h == leader {
				t.Error("the Lease is not free")
			}
			time.Sleep(5 * time.Second)
		}
		if e.most != 1 {
			t.Errorf("%d led at once", e.most)
		}
	})
}

// A leader that cannot renew its Lease ends its work before another one may begin, goes
// on living, and leads again.
func TestLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection()
		e.candidate(t, "a")
		e.candidate(t, "b")
		time.Sleep(time.Minute)
		e.away.Store(true)
		time.Sleep(14 * time.Second) // renewed 2 s before, given up after 10 s, ended 1 s later
		e.mu.Lock()
		if len(e.leads) != 0 || len(e.terms) != 1 {
			t.Errorf("leading after 14 s without the server: %v, terms %v", e.leads, e.terms)
		}
		e.mu.Unlock()
		time.Sleep(time.Minute)
		e.away.Store(false)
		time.Sleep(20 * time.Second)
		if n := e.termsSoFar(); n != 2 || e.most != 1 {
			t.Errorf("terms %v, %d at once; want two, one at a time", e.terms, e.most)
		}
	})
}

// A leader that was killed frees nothing: the next one comes when its Lease has expired.
func TestLeaderIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection()
		now, killed, seconds := metav1.NowMicro(), "killed", int32(15)
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: leaseName.Namespace, Name: leaseName.Name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &killed, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		}
		if _, err := e.client.CoordinationV1().Leases(leaseName.Namespace).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		e.candidate(t, "a")
		time.Sleep(14 * time.Second)
		if n := e.termsSoFar(); n != 0 {
			t.Errorf("terms %v while the Lease holds", e.terms)
		}
		time.Sleep(6 * time.Second)
		if n := e.termsSoFar(); n != 1 {
			t.Errorf("terms %v after it has expired", e.terms)
		}
	})
}

// Work that ends by itself ends the leadership: the caller decides what that means.
func TestLeadEndsByItself(t *testing.T) {
	failure := errors.New("cannot go on")
	for _, want := range []error{failure, nil} {
		synctest.Test(t, func(t *testing.T) {
			e := newElection()
			err := Lead(t.Context(), e.client, leaseName, "a", slog.New(slog.DiscardHandler), func(context.Context) error { return want })
			if !errors.Is(err, want) {
				t.Errorf("Lead: %v, want %v", err, want)
			}
			if h := holder(t, e); h != "" {
				t.Errorf("%q still holds the Lease", h)
			}
		})
	}
}

func TestLeadWithoutIdentity(t *testing.T) {
	e := newElection()
	err := Lead(t.Context(), e.client, leaseName, "", slog.New(slog.DiscardHandler), func(context.Context) error { return nil })
	if err == nil {
		t.Error("want an error: two without an identity would both lead")
	}
}
