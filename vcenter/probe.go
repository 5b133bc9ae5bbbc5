package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
)

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
		if _, err := methods.GetCurrentTime(ctx, w.s.vim); err != nil {
			return fmt.Errorf("asking whether it answers: %w", err)
		}
		select {
		case w.answered <- asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
