package operator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"

	"vzones/test/stack"
)

// setReady sets the Ready condition of a Node.
func setReady(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: ready NODE STATUS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	ts.Check(needStack(ts).Cluster.SetNodeReady(ctx, args[0], v1.ConditionStatus(args[1])))
}

// untilReady waits until a daemon has read each vCenter: before that it writes nothing, and may not
// even handle the signal that ends it.
func untilReady(ctx context.Context, d *stack.Daemon) error {
	for {
		code, says, err := d.Get(ctx, "/readyz", "")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("/readyz: %d %s", code, says)
		}
		if err == nil {
			return nil
		}
		select {
		case <-d.Exited():
			return fmt.Errorf("the daemon has ended, and was not ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("the daemon is not ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
