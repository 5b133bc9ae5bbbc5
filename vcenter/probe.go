package vcenter

import (
	"context"
	"fmt"
	"time"
)

// loadingProbes asks for a proof that the vCenter answers as often as a long poll
// would give one, while the first page of its machines is waited for: that may take
// minutes, and a vCenter that hangs is to be known sooner.
func (w *watch) loadingProbes(ctx context.Context) error {
	again := time.NewTicker(w.c.opts.pollTime)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			token(w.c.probe)
		case <-w.arrived:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer asks the vCenter for its time whenever a proof is wanted that it answers.
// The long poll proves that only when it returns. A vCenter that does not answer
// ends the watch.
func (w *watch) answer(ctx context.Context) error {
	for {
		select {
		case <-w.c.probe:
		case <-ctx.Done():
			return ctx.Err()
		}
		asked := time.Now()
		if err := w.s.Ping(ctx); err != nil {
			return fmt.Errorf("asking whether it answers: %w", err)
		}
		select {
		case w.answered <- asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
