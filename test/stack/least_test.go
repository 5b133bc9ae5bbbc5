package stack

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// exercised starts a daemon, runs all exercises and returns the failed ones. It waits for all exercises that are not
// expected to fail, and for the expected denial of the API server.
func exercised(t *testing.T, w *leastWorld, failing []string, rejected func() bool) (failed []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := w.s
	if err := s.Register(ctx, s.Fleet.VMs()...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cluster.CreateNode(ctx, deadNode("gone")); err != nil {
		t.Fatal(err)
	}
	if err := s.Cluster.SetNodeReady(ctx, "gone", v1.ConditionUnknown); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.config, err = s.WriteConfig(leastConfig); err != nil {
		t.Fatal(err)
	}
	if w.namespace != namespace {
		config := bytes.ReplaceAll(s.Config(), []byte("secretNamespace: "+namespace), []byte("secretNamespace: "+w.namespace))
		if err := os.WriteFile(w.config, append(config, leastConfig...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if w.d, err = s.StartDaemon(binary, w.config, append(leastFlags, w.flags...)...); err != nil {
		t.Fatal(err)
	}
	done := together(ctx, w, failing, rejected)
	for _, name := range slices.Sorted(maps.Keys(exercises)) {
		if err := done[name]; err != nil {
			failed = append(failed, name)
			t.Logf("%s: %v", name, err)
		}
	}
	return failed
}

// last is the exercise after which nothing works if it fails.
const last = "the use of a new password"

// together runs all exercises except for last in parallel and returns their errors.
func together(ctx context.Context, w *leastWorld, failing []string, rejected func() bool) map[string]error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var all, must sync.WaitGroup
	done := map[string]error{}
	begin := func(name string) {
		awaited := !slices.Contains(failing, name)
		if awaited {
			must.Add(1)
		}
		all.Go(func() {
			err := exercises[name](ctx, w)
			mu.Lock()
			defer mu.Unlock()
			if done[name] = err; awaited {
				must.Done()
			}
		})
	}
	for name := range exercises {
		if name != last {
			begin(name)
		}
	}
	must.Wait()
	begin(last)
	must.Wait()
	_ = until(ctx, func() (bool, error) { return rejected(), nil }) // the caller checks the result
	if len(failing) > 0 {
		<-time.After(3 * time.Second)
	}
	cancel()
	all.Wait()
	return done
}
