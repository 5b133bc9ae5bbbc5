package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vzones/test/stack"
)

// Play resets the stack for the scenario's fleet and plays its script with the daemon at a path. It reports each
// completed line. An error contains the failed line, the reason and the end of the daemon's log. In any case, the
// daemon is stopped and the state that it leaves is checked.
func (s *Scenario) Play(ctx context.Context, target *stack.Stack, binary string, report func(string)) error {
	if err := target.Reset(ctx, s.fleet); err != nil {
		return err
	}
	w, err := newWorld(target, binary, s.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	synced := make(chan struct{})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.observer.observe(ctx, target.Client, func() { close(synced) })
	}()
	defer func() { cancel(); <-closed }()
	select {
	case <-synced:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	began := time.Now()
	err = w.play(ctx, s.steps, func(step *step) {
		report(fmt.Sprintf("%6.2fs  %s", time.Since(began).Seconds(), step))
	})
	if w.writer != nil {
		err = errors.Join(err, w.endWriter())
	}
	err = errors.Join(err, w.restored(context.WithoutCancel(ctx)))
	log := w.logTail(err)
	for w.daemon != nil || w.standby != nil {
		if w.daemon == nil {
			w.promote()
		}
		if end := w.stop(ctx); end != nil {
			err = errors.Join(err, fmt.Errorf("at the end: %w", end))
			log = log + w.logTail(end)
		}
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, log)
	}
	return err
}

func (w *world) logTail(err error) string {
	if err == nil || w.last == nil {
		return ""
	}
	const few, long = 20, 1000
	said, err := w.ownLogText()
	if err != nil {
		said = err.Error()
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	lines = lines[max(0, len(lines)-few):]
	for i, line := range lines {
		lines[i] = line[:min(long, len(line))]
	}
	return "\nthe end of the daemon's log, without requests and responses:\n" + strings.Join(lines, "\n")
}

func (w *world) play(ctx context.Context, steps []step, done func(*step)) error {
	for i := range steps {
		step := &steps[i]
		if step.action != nil {
			if err := step.action(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			done(step)
		}
		for round := range step.times {
			if err := w.play(ctx, step.inner, done); err != nil {
				return fmt.Errorf("round %d of %d: %w", round+1, step.times, err)
			}
		}
	}
	return nil
}
