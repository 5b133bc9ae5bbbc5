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

// A Guard converts panics in the work for one vCenter into errors, so that no vCenter's answer stops
// the work for another vCenter. It is safe for concurrent use.
type Guard struct {
	mu sync.Mutex
	// logged contains stacks. A server can vary a panic's text, but not its stack.
	logged map[string]bool
}

const maxStacks = 20

type panicError struct {
	where string
	value any
}

func (p *panicError) Error() string {
	text, _, _ := strings.Cut(fmt.Sprint(p.value), "\n") // A panic that Go repeats includes a stack.
	return p.where + ": panic: " + text
}

func (p *panicError) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// Run calls f and returns a panic of f as an error. Each stack is logged once.
func (g *Guard) Run(ctx context.Context, where string, f func() error) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = &panicError{where, value}
		if trace := stack(); g.isNew(trace) {
			if text, origin, passed := strings.Cut(fmt.Sprint(value), "\n"); passed && text != "" {
				trace = origin + "; " + trace
			}
			klog.FromContext(ctx).Error(Printable{err}, "Recovered from a panic; retrying the vCenter. Other vCenters are not affected", "stack", trace)
		}
	}()
	return f()
}

func (g *Guard) isNew(trace string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.logged[trace] || len(g.logged) == maxStacks {
		return false
	}
	if g.logged == nil {
		g.logged = map[string]bool{}
	}
	g.logged[trace] = true
	return true
}

func stack() string {
	var counters [24]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(4, counters[:])]) // This skips the recovery and gopanic.
	var calls []string
	for more := true; more; {
		var call runtime.Frame
		call, more = frames.Next()
		calls = append(calls, fmt.Sprintf("%s %s:%d", call.Function, filepath.Base(call.File), call.Line))
	}
	return strings.Join(calls, "; ")
}

// Recovered reports whether an error comes from a panic.
func Recovered(err error) bool {
	return errors.As(err, new(*panicError))
}

// Go runs f in a goroutine. ended closes when f ends. wait waits for f and repeats its panic.
func Go(f func()) (ended <-chan struct{}, wait func()) {
	done := make(chan struct{})
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
