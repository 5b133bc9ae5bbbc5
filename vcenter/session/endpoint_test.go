package session_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

func TestRequestsInFlight(t *testing.T) {
	var most, now atomic.Int32
	c := session.NewEndpoint(&config.VCenter{}, session.Options{Timeout: time.Minute, InFlight: 3, Observer: new(vcentertest.Counter), Guard: &faults.Guard{}})
	var g errgroup.Group
	release := make(chan struct{})
	for range 20 {
		g.Go(func() error {
			return c.Do(t.Context(), "test", func(context.Context) error {
				most.Store(max(most.Load(), now.Add(1)))
				<-release
				now.Add(-1)
				return nil
			})
		})
	}
	for range 20 {
		release <- struct{}{}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if most.Load() > 3 || most.Load() < 1 {
		t.Errorf("%d at a time", most.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var busy sync.WaitGroup
	defer busy.Wait()
	defer close(release)
	began := make(chan struct{})
	for range 3 {
		busy.Go(func() {
			_ = c.Do(t.Context(), "test", func(context.Context) error {
				began <- struct{}{}
				<-release
				return nil
			})
		})
	}
	for range 3 {
		<-began
	}
	cancel()
	if err := c.Do(ctx, "test", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that waits for a slot: %v", err)
	}
}

// TestLastAnswer checks that it is zero before the first answer, survives errors and ignores the wall clock.
func TestLastAnswer(t *testing.T) {
	e := session.NewEndpoint(&config.VCenter{}, session.Options{Timeout: time.Minute, Observer: new(vcentertest.Counter), Guard: &faults.Guard{}})
	if at := e.LastAnswer(); !at.IsZero() {
		t.Errorf("before the first call: %v, want zero", at)
	}
	call := func(err error) time.Time {
		_ = e.Do(t.Context(), "test", func(context.Context) error { return err })
		return e.LastAnswer()
	}
	if at := call(errors.New("refused")); !at.IsZero() {
		t.Errorf("after an error: %v, want zero", at)
	}
	first := call(nil)
	if time.Since(first) > time.Minute || first == first.Round(0) { //nolint:staticcheck // Equal does not compare the monotonic readings
		t.Errorf("after an answer: %v, want now, with a monotonic reading", first)
	}
	if at := call(errors.New("refused")); at != first {
		t.Errorf("after an answer and an error: %v, want %v", at, first)
	}
}
