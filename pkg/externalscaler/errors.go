package externalscaler

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dashpot-project/dashpot/pkg/scaling"
)

// toStatus turns an error into the status that tells KEDA's log and events about
// it: InvalidArgument for what the user has to mend, ResourceExhausted for what the
// operator has to, Unavailable for what passes by itself. nil stays nil, and an error that is or wraps a status keeps its code.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.Error(codeOf(err), err.Error())
}

// codeOf returns the code of an error. A bad policy comes first: of several
// triggers one may be wrong and another not read, and only the former is mended by
// anybody. A request whose time is over comes last: why it waited says more.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, scaling.ErrBadPolicy):
		return codes.InvalidArgument
	case errors.Is(err, scaling.ErrTooMany):
		return codes.ResourceExhausted
	case errors.Is(err, scaling.ErrUnobserved),
		errors.Is(err, scaling.ErrNotRead),
		errors.Is(err, scaling.ErrNoData):
		return codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return codes.Internal
}
