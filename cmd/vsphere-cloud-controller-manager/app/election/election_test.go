package election

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/cloud-provider/options"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/controller-manager/pkg/healthz"
)

// electionConfig is the daemon's default.
func electionConfig(t *testing.T) *componentbaseconfig.LeaderElectionConfiguration {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	opts.Generic.LeaderElection.RetryPeriod.Duration = RetryPeriod
	return &opts.Generic.LeaderElection
}

// candidate is a process that takes part in an election for a Lease.
type candidate struct {
	*Election
	watchdog *leaderelection.HealthzAdaptor
	lost     chan struct{}
}

func newCandidate(t *testing.T, name string, client *fake.Clientset) *candidate {
	t.Helper()
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	c := &candidate{watchdog: leaderelection.NewLeaderHealthzAdaptor(WatchdogTime), lost: make(chan struct{})}
	var err error
	if c.Election, err = New(t.Context(), lock, func() {}, electionConfig(t), c.watchdog, func() { close(c.lost) }); err != nil {
		t.Fatal(err)
	}
	return c
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// healthy asks /healthz.
func (c *candidate) healthy() bool {
	answer := httptest.NewRecorder()
	healthz.NewMutableHealthzHandler(c.watchdog).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	return answer.Code == http.StatusOK
}

// TestReleasedLease: the standby leads within 2 s of a release, and nobody before it.
func TestReleasedLease(t *testing.T) {
	for range 3 { // the delays are random
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			first, second := newCandidate(t, "first", client), newCandidate(t, "second", client)
			first.Run(t.Context())
			synctest.Wait()
			if !isClosed(first.Leading()) {
				t.Fatal("the first does not lead")
			}
			second.Run(t.Context())
			time.Sleep(time.Minute)
			if isClosed(second.Leading()) || isClosed(first.lost) {
				t.Fatal("two lead")
			}
			first.Release(t.Context())
			released := time.Now()
			<-second.Leading()
			if took := time.Since(released); took >= 2*time.Second {
				t.Errorf("the second leads after %v", took)
			}
			if isClosed(first.lost) {
				t.Error("what was released counts as lost")
			}
			second.Release(t.Context())
		})
	}
}

// TestLeaseThatIsKept: of a process that was killed it is free when it has expired.
func TestLeaseThatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var killed atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return killed.Load(), nil, errors.New("no answer")
		})
		first := newCandidate(t, "first", client)
		first.Run(t.Context())
		<-first.Leading()
		killed.Store(true)
		<-first.lost
		first.Release(t.Context()) // which does not wait for what is over
		killed.Store(false)
		second := newCandidate(t, "second", client)
		second.Run(t.Context())
		began := time.Now()
		<-second.Leading()
		if took := time.Since(began); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("the second leads after %v", took)
		}
		second.Release(t.Context())
	})
}

// TestHealthzWatchesTheElection: a leader that is stuck and neither renews the Lease
// nor ends is not healthy 20 s after the Lease has expired. A standby is healthy, and
// so is a process without an election.
func TestHealthzWatchesTheElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var hangs atomic.Bool
		stuck := make(chan struct{})
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if !hangs.Load() {
				return false, nil, nil
			}
			<-stuck // and no deadline ends it
			return true, nil, context.Canceled
		})
		leader, standby := newCandidate(t, "leader", client), newCandidate(t, "standby", fake.NewClientset())
		none := &candidate{watchdog: leaderelection.NewLeaderHealthzAdaptor(WatchdogTime)}
		leader.Run(t.Context())
		<-leader.Leading()
		time.Sleep(time.Minute)
		if !leader.healthy() {
			t.Error("a leader that renews its Lease is not healthy")
		}
		hangs.Store(true)
		began := time.Now()
		for leader.healthy() {
			time.Sleep(time.Second)
			if time.Since(began) > time.Hour {
				t.Fatal("healthy for ever")
			}
		}
		limit := electionConfig(t).LeaseDuration.Duration + WatchdogTime
		if took := time.Since(began); took < limit-2*time.Second || took > limit+time.Second {
			t.Errorf("not healthy after %v, want %v", took, limit)
		}
		if !standby.healthy() || !none.healthy() {
			t.Error("who does not lead is not healthy")
		}
		close(stuck)
		<-leader.lost
	})
}
