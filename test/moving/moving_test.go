package moving

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/config"
	"vzones/test/cluster"
	"vzones/test/stack"
)

var (
	firstSeed = flag.Uint64("moving.seed", 1, "the `seed` of the first run")
	runCount  = flag.Int("moving.runs", 10, "how many runs are played, with one seed after the other")
)

const (
	// stacks is the number of control planes, each for one run at a time. Runs mostly wait.
	stacks = 2
	// timeout bounds the wait for the effects on all Nodes on a busy host. Events about 300 Nodes need half a minute.
	timeout = 5 * time.Minute
	// shortly exceeds several checks of all Nodes that are not ready.
	shortly = 5 * time.Second
)

// TestTheVCenterIsReplaced: no Node is deleted or tainted, no provider ID and no address changes, and the labels follow
// the drift policy, whatever order and time each move takes, and although the daemon restarts, vCenters fail and kubelets
// are silent meanwhile.
func TestTheVCenterIsReplaced(t *testing.T) {
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	root := filepath.Join("..", "..")
	binary, err := stack.Binary(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for part := range min(stacks, *runCount) {
		t.Run(fmt.Sprintf("stack %d", part), func(t *testing.T) {
			t.Parallel()
			s, err := stack.Start(t.Context(), stack.Options{Fleet: theFleet})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			})
			for i := part; i < *runCount; i += stacks {
				seed := *firstSeed + uint64(i)
				drift := []config.Drift{config.DriftReport, config.DriftUpdate}[seed%2]
				t.Run(fmt.Sprintf("seed %d, drift %s", seed, drift), func(t *testing.T) {
					w := newWorld(t, s, binary, seed)
					w.replaceVCenter(drift)
				})
			}
		})
	}
}

// replaceVCenter plays one run.
func (w *world) replaceVCenter(drift config.Drift) {
	t := w.t
	t.Helper()
	w.configure(drift, before)
	w.start()
	if err := w.s.Register(t.Context(), w.vms...); err != nil {
		t.Fatal(err)
	}
	w.await("every Node is initialized in the old vCenter", func(n *v1.Node) error {
		return errors.Join(inVCenter(n, w.there[n.Name]), hasPlace(n, placeOf(w.there[n.Name])), isReady(n, v1.ConditionTrue), hasAddress(n))
	})
	w.keepNodes(drift)

	w.configure(drift, before, after)
	if w.maybe(2) {
		w.until("vzones has logged in to the new vCenter", func() bool { return w.vcenter(after).SOAPSessions() > 0 })
	}
	incidents := w.incidents()
	for i, m := range w.random.Perm(len(w.vms)) {
		if incident := incidents[i]; incident != nil {
			incident()
		}
		w.move(w.vms[m].Name)
	}
	w.endIncidents()
	if w.maybe(2) {
		w.pause(shortly)
	}
	w.configure(drift, after)

	if drift == config.DriftReport {
		w.await("every Node keeps its labels, and has an Event", func(n *v1.Node) error {
			return errors.Join(inVCenter(n, w.there[n.Name]), hasPlace(n, w.first[n.Name]), isReady(n, v1.ConditionFalse))
		})
		w.expectDriftEvents()
		w.expectSteady()
		w.allowNewPlaces()
		w.configure(config.DriftUpdate, after)
	}
	w.await("every Node has the labels of its new place", func(n *v1.Node) error {
		return errors.Join(inVCenter(n, w.there[n.Name]), hasPlace(n, placeOf(w.there[n.Name])), isReady(n, v1.ConditionTrue))
	})
	w.expectSteady()
	if _, err := w.d.Stop(); err != nil {
		t.Errorf("stopping the daemon: %v", err)
	}
	for _, violation := range w.violations() {
		t.Error(violation)
	}
	if t.Failed() {
		t.Logf("the end of the daemon's log:\n%s", tail(w.d.Log()))
	}
}

// expectSteady checks that the Nodes stay although all kubelets are silent for some time.
func (w *world) expectSteady() {
	w.setReady(v1.ConditionUnknown, w.vms...)
	w.pause(shortly)
	w.setReady(v1.ConditionTrue, w.vms...)
	w.until("all Nodes are there", func() bool { return len(w.nodes()) == len(w.vms) })
}

// maybe is true once in n times.
func (w *world) maybe(n int) bool { return w.random.IntN(n) == 0 }

// pause waits between two events.
func (w *world) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.t.Context().Done():
		w.t.Fatal(context.Cause(w.t.Context()))
	}
}

// soon sometimes waits for a moment, so that the daemon sees some steps alone and some together.
func (w *world) soon() {
	if w.maybe(4) {
		w.pause(time.Duration(w.random.IntN(100)) * time.Millisecond)
	}
}

// until waits for a condition. If it is not met in time, details are printed.
func (w *world) until(what string, isMet func() bool, details ...func() string) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		select {
		case <-w.d.Exited():
			return false, errors.New("the daemon exited")
		default:
			return isMet(), nil
		}
	})
	if err != nil {
		for _, d := range details {
			w.t.Log(d())
		}
		w.t.Fatalf("waiting until %s: %v\n%s", what, err, tail(w.d.Log()))
	}
}

func tail(log string) string { return log[max(0, len(log)-4<<10):] }

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 47)) }
