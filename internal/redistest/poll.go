package redistest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// permanentError is an error that no further attempt will mend.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// poll calls attempt until it returns nil, a permanentError, or the context
// ends; the last error is then part of the result.
func poll(ctx context.Context, attempt func() error) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		err := attempt()
		var permanent permanentError
		if err == nil || errors.As(err, &permanent) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
