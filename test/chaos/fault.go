package main

import (
	"context"
	"errors"
	"time"
)

// fault is what is done to a cell. It has no state: cells run side by side.
type fault struct {
	name string
	// setups are those that it applies to.
	setups []string
	// lasts is the time from its injection to its healing; 10 s if zero.
	lasts time.Duration
	// blind: nobody can read the source meanwhile.
	blind bool
	// variant is of the programs that it needs; empty if none.
	variant string
	// prepare is done before the script begins; nil if there is nothing to do.
	prepare func(context.Context, *world) error
	// inject returns what heals it.
	inject func(context.Context, *world) (heal, error)
}

// heal undoes a fault, and returns when all is as before.
type heal func(context.Context) error

func (f fault) duration() time.Duration {
	if f.lasts == 0 {
		return 10 * time.Second
	}
	return f.lasts
}

// faults are all, in the order of the table.
func faults() []fault {
	everywhere := setups
	// What has nothing to do with Redis is tried with one kind of it.
	once := []string{single}
	list := []fault{
		{name: "none", setups: everywhere, inject: nothing},
		{name: "one replica killed and restarted", setups: everywhere, inject: killOne},
		{name: "all replicas killed and restarted", setups: everywhere, blind: true, inject: killAll},
		{name: "rolling update to the next record layout", setups: everywhere, variant: nextLayout, inject: roll},
		{name: "replica with a clock 10 min fast", setups: once, variant: faultClock, inject: wrongClockBy(10 * time.Minute)},
		{name: "replica with a clock 10 min slow", setups: once, variant: faultClock, inject: wrongClockBy(-10 * time.Minute)},
		{name: "source hung", setups: once, blind: true, inject: hangSource},
	}
	list = append(list, redisFaults()...)
	list = append(list, serverFaults()...)
	list = append(list, linkFaults()...)
	list = append(list, serverLinkFaults()...)
	return append(list,
		blindly(both("all replicas killed and FLUSHALL", everywhere, killAll, flushAll)),
		with(nextLayout, both("rolling update and Redis restarted", everywhere, roll, restartRedis)),
		both("one replica killed and Redis' clock 10 min fast", everywhere, killOne, redisClockBy(10*time.Minute)),
		blindly(both("source hung and Redis suspended", everywhere, hangSource, suspendRedis)),
		both("primary lost and one replica killed", []string{sentinel, cluster3}, losePrimary, killOne),
	)
}

func nothing(context.Context, *world) (heal, error) {
	return func(context.Context) error { return nil }, nil
}

// both is two faults at once.
func both(name string, applies []string, one, other func(context.Context, *world) (heal, error)) fault {
	return fault{name: name, setups: applies, inject: func(ctx context.Context, w *world) (heal, error) {
		healOne, err := one(ctx, w)
		if err != nil {
			return nil, err
		}
		healOther, err := other(ctx, w)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return errors.Join(healOther(ctx), healOne(ctx)) }, nil
	}}
}

func with(variant string, f fault) fault {
	f.variant = variant
	return f
}

func blindly(f fault) fault {
	f.blind = true
	return f
}

func killOne(_ context.Context, w *world) (heal, error) {
	r := w.scalers[0]
	r.kill()
	return r.start, nil
}

func killAll(_ context.Context, w *world) (heal, error) {
	for _, r := range w.replicas() {
		r.kill()
	}
	return func(ctx context.Context) error {
		var problems []error
		for _, r := range w.replicas() {
			problems = append(problems, r.start(ctx))
		}
		return errors.Join(problems...)
	}, nil
}

// roll replaces one scaler by one that writes the next layout. For a while both are there,
// and each takes the other's records for a newer layout or an older one. Then the rest
// follows.
func roll(ctx context.Context, w *world) (heal, error) {
	if err := w.scalers[0].replaced(ctx, w.newScaler); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(w.scalers[1].replaced(ctx, w.newScaler), w.adapter.replaced(ctx, w.newAdapter))
	}, nil
}

func wrongClockBy(by time.Duration) func(context.Context, *world) (heal, error) {
	return func(ctx context.Context, w *world) (heal, error) {
		r := w.scalers[1]
		if err := r.replaced(ctx, w.wrongClock, clockSetting(by)); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return r.replaced(ctx, w.scaler) }, nil
	}
}

func hangSource(_ context.Context, w *world) (heal, error) {
	w.source.hang()
	return w.source.resume, nil
}
