package faults

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// A Guard turns panics in what is done for one vCenter into that vCenter's errors:
// libraries trust answers more than they deserve, and no answer of one vCenter may
// end what is done for the others. The zero value is ready; it may be used concurrently.
type Guard struct {
	// last is the text of the last panic. Its stack is in the log.
	last atomic.Pointer[string]
}

// A panicError is a panic as an error.
type panicError struct {
	where string
	value any
}

func (p *panicError) Error() string {
	text, _, _ := strings.Cut(fmt.Sprint(p.value), "\n") // one that was passed on has its stack behind it
	return p.where + ": panic: " + text
}

func (p *panicError) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// Run calls f. Where f panics, the error gives the reason and where. The stack is logged,
// once for as long as the same panic repeats.
func (g *Guard) Run(ctx context.Context, where string, f func() error) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = &panicError{where, value}
		text := err.Error()
		if last := g.last.Swap(&text); last == nil || *last != text {
			klog.FromContext(ctx).Error(err, "Recovered from a panic; the vCenter is tried again, and others are not affected", "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// Recovered reports whether an error comes of a panic.
func Recovered(err error) bool {
	return errors.As(err, new(*panicError))
}
