package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

// roundTripper repeats requests after network errors.
func (e *Endpoint) roundTripper(next soap.RoundTripper) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) (err error) {
		for range max(e.cfg.Load().RoundTrips, 1) {
			err = e.Do(ctx, method(req), func(ctx context.Context) error { return send(ctx, next, req, res) })
			if !isTemporary(err) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				break
			}
		}
		return err
	})
}

func isTemporary(err error) bool {
	// url.Error and net.Error have this method.
	var network interface{ Temporary() bool }
	return errors.As(err, &network) && network.Temporary()
}

// longPoll sends requests with their own deadline, outside the limit of concurrent requests.
func (e *Endpoint) longPoll(next soap.RoundTripper, timeout time.Duration) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) error {
		return e.observed(ctx, method(req), timeout, func(ctx context.Context) error { return send(ctx, next, req, res) })
	})
}

// send rejects an empty envelope, because govmomi and its callers dereference the result.
func send(ctx context.Context, next soap.RoundTripper, req, res soap.HasFault) error {
	if err := next.RoundTrip(ctx, req, res); err != nil {
		return err
	}
	answer := reflect.ValueOf(res).Elem().FieldByName("Res")
	if answer.Kind() != reflect.Pointer {
		return nil
	}
	if answer.IsNil() {
		return fmt.Errorf("%s: it is empty", unusableAnswer(method(req)))
	}
	if returned := answer.Elem().FieldByName("Returnval"); returned.IsValid() {
		if ref, ok := returned.Interface().(types.ManagedObjectReference); ok {
			return faults.CheckRef(ref)
		}
	}
	return nil
}

type roundTrip func(ctx context.Context, req, res soap.HasFault) error

func (f roundTrip) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	return f(ctx, req, res)
}

func method(req soap.HasFault) string {
	return strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
}
