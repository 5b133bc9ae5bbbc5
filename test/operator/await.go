package operator

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/util/wait"
)

func awaitRequests(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: asked NAME N")
	}
	v := theVCenter(ts, args[0])
	least := number(ts, args[1])
	if err := await(func() bool { return v.Total() >= least }); err != nil {
		ts.Fatalf("vCenter %s received %d requests, want at least %d: %v", v.Name(), v.Total(), least, err)
	}
}

func await(isMet func() bool) error {
	return wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, startTime, true,
		func(context.Context) (bool, error) { return isMet(), nil })
}
