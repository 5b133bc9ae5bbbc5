package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"k8s.io/klog/v2"
)

// A Guard turns panics in what is done for one vCenter into that vCenter's errors:
// libraries trust answers more than they deserve, and no answer of one vCenter may
// end what is done for the others. The zero value is ready; it may be used concurrently.
type Guard struct {
	mu sync.Mutex
	// logged are the stacks in the log. A server can choose the text of a panic and alternate between several, but
	// not the code that panics.
	logged map[string]bool
}

// stacksMax bounds the stacks in the log.
const stacksMax = 20

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

// Run calls f. If f panics, the error contains the reason and the place. Each stack is logged once.
func (g *Guard) Run(ctx context.Context, where string, f func() error) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = &panicError{where, value}
		if trace := stack(); g.isNew(trace) {
			// Go passes a panic on with the stack of its origin behind the text.
			if text, origin, passed := strings.Cut(fmt.Sprint(value), "\n"); passed && text != "" {
				trace = origin + "; " + trace
			}
			klog.FromContext(ctx).Error(Printable{err}, "Recovered from a panic; the vCenter is tried again, and others are not affected", "stack", trace)
		}
	}()
	return f()
}

// isNew records a stack, and reports whether to log it.
func (g *Guard) isNew(trace string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.logged[trace] || len(g.logged) == stacksMax {
		return false
	}
	if g.logged == nil {
		g.logged = map[string]bool{}
	}
	g.logged[trace] = true
	return true
}

// stack returns the calls that led to the panic of this goroutine, the last one first, on one line.
func stack() string {
	var counters [24]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(4, counters[:])]) // without the recovery and gopanic
	var calls []string
	for more := true; more; {
		var call runtime.Frame
		call, more = frames.Next()
		calls = append(calls, fmt.Sprintf("%s %s:%d", call.Function, filepath.Base(call.File), call.Line))
	}
	return strings.Join(calls, "; ")
}

// Recovered reports whether an error comes of a panic.
func Recovered(err error) bool {
	return errors.As(err, new(*panicError))
}

// Go starts f in a goroutine of its own and returns a function that waits for its
// end. The goroutine closes ended. A panic of f becomes that of the waiting
// function: whoever started f is responsible for it.
func Go(f func()) (ended <-chan struct{}, wait func()) {
	done := make(chan struct{}) // closed by the goroutine
	var panicked any
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n%s", p, stack())
			}
		}()
		f()
	}()
	return done, func() {
		<-done
		if panicked != nil {
			panic(panicked)
		}
	}
}
