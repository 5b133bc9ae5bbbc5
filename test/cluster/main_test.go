package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary runs itself as these programs.
const (
	roleVariable = "VZONES_TEST_ROLE"
	roleSleep    = "sleep" // runs until a signal ends it
	roleFail     = "fail"  // says why it ends, and ends
)

// TestMain lets the test binary play the programs of a pretended cluster.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleSleep:
		<-time.After(time.Minute)
		os.Exit(0)
	case roleFail:
		fmt.Println("the disk is on fire")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// leakFree fails the test if it leaves a goroutine. It is called first, so that
// it looks last.
func leakFree(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
}

// need skips the test where programs of the control plane are missing.
func need(t *testing.T, names ...string) {
	t.Helper()
	if err := Wanted(names...); err != nil {
		t.Skip(err)
	}
}

// start starts a control plane that is stopped at the end of the test, which
// fails if a program ended before that.
func start(t *testing.T, options Options) *Cluster {
	t.Helper()
	options.Dir = t.TempDir()
	began := time.Now()
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		began := time.Now()
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	})
	return c
}

// eventually asks until the answer is nil.
func eventually(t *testing.T, within time.Duration, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := poll(ctx, ask); err != nil {
		t.Fatal(err)
	}
}
