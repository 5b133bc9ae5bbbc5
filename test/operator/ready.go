package operator

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
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
