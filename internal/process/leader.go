package process

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// How long a Lease holds without being renewed, after what time without success its
// holder gives up, and how often either side tries. They are client-go's usual ones:
// nobody leads for up to 17 s after a leader was killed.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// releaseTimeout ends the attempt to give a Lease back, which expires otherwise.
const releaseTimeout = 3 * time.Second

// Lead runs lead while this process, as identity, holds the Lease, and no other does.
// When the Lease is lost the context of lead ends, and the process stands for election
// again: whatever else it does goes on.
//
// It returns nil when ctx ends, and the Lease is free by then for the next one. If
// lead ends by itself its error is returned, nil included. An identity is one of the
// processes that stand for election: the Pod's name.
//
// lead has to return soon after its context ends: it was not renewed for 10 s then, at
// most, and after 15 s another may lead.
func Lead(ctx context.Context, client kubernetes.Interface, lease types.NamespacedName, identity string, log *slog.Logger, lead func(context.Context) error) error {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	log = log.With("lease", lease.String(), "identity", identity)
	for ctx.Err() == nil {
		ended, err := serveTerm(ctx, lock, log, lead)
		if err != nil || ended {
			return err
		}
	}
	return nil
}

// serveTerm stands for election until it is elected, leads until the Lease is lost,
// and gives back what it still has of it. ended reports that lead returned although it
// could have gone on.
//
// The elector could release the Lease itself, but would do so while lead still runs.
func serveTerm(ctx context.Context, lock *resourcelock.LeaseLock, log *slog.Logger, lead func(context.Context) error) (ended bool, err error) {
	elected := make(chan struct{})
	term, end := context.WithCancel(ctx)
	defer end()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: end, // called at the end of Run, whether or not it was elected
		},
	})
	if err != nil {
		return false, fmt.Errorf("stand for election: %w", err)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var elections sync.WaitGroup
	elections.Go(func() { elector.Run(running) })
	select {
	case <-term.Done():
	case <-elected:
		log.InfoContext(ctx, "this replica leads")
		err = lead(term)
		ended = term.Err() == nil
		log.InfoContext(ctx, "this replica leads no longer")
	}
	stop()
	elections.Wait()
	release(ctx, lock, log)
	if !ended {
		return false, nil // what lead says of its context's end is no news
	}
	return true, err
}

// release gives the Lease back if this process still holds it.
func release(ctx context.Context, lock *resourcelock.LeaseLock, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return // nothing to give back, or nobody to give it to
	}
	now := metav1.Now()
	record.HolderIdentity, record.LeaseDurationSeconds = "", 1
	record.AcquireTime, record.RenewTime = now, now
	if err := lock.Update(ctx, *record); err != nil {
		log.WarnContext(ctx, "cannot release the lease, it will expire", "error", err)
	}
}
