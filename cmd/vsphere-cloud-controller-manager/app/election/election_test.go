package election

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/cloud-provider/options"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/controller-manager/pkg/healthz"
)

// electionConfig returns the daemon's default.
func electionConfig(t *testing.T) *componentbaseconfig.LeaderElectionConfiguration {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	opts.Generic.LeaderElection.RetryPeriod.Duration = RetryPeriod
	return &opts.Generic.LeaderElection
}

// candidate is a process in an election for a Lease.
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

// healthy requests /healthz.
func (c *candidate) healthy() bool {
	answer := httptest.NewRecorder()
	healthz.NewMutableHealthzHandler(c.watchdog).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	return answer.Code == http.StatusOK
}

// TestReleasedLease: the standby leads within 2 s of a release, and not before.
func TestReleasedLease(t *testing.T) {
	// The delays are random.
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			first := newCandidate(t, "first", client)
			second := newCandidate(t, "second", client)
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

// TestLeaseThatIsKept: the Lease of a killed process is free once it expires.
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
		// The election is over, so Release does not wait.
		first.Release(t.Context())
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

// TestHealthzWatchesTheElection: a stuck leader that neither renews the Lease nor ends is unhealthy 20
// s after the Lease has expired. A standby and a process without an election are healthy.
func TestHealthzWatchesTheElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var hangs atomic.Bool
		stuck := make(chan struct{})
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if !hangs.Load() {
				return false, nil, nil
			}
			// No deadline ends this request.
			<-stuck
			return true, nil, context.Canceled
		})
		leader := newCandidate(t, "leader", client)
		standby := newCandidate(t, "standby", fake.NewClientset())
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
				t.Fatal("a stuck leader stays healthy")
			}
		}
		limit := electionConfig(t).LeaseDuration.Duration + WatchdogTime
		if took := time.Since(began); took < limit-2*time.Second || took > limit+time.Second {
			t.Errorf("not healthy after %v, want %v", took, limit)
		}
		if !standby.healthy() || !none.healthy() {
			t.Error("a standby is not healthy")
		}
		close(stuck)
		<-leader.lost
	})
}

// hangingLock is a lock whose API server does not answer while hangs is true.
type hangingLock struct {
	resourcelock.Interface
	hangs atomic.Bool
}

func (l *hangingLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.hangs.Load() {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	return l.Interface.Get(ctx)
}

func (l *hangingLock) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	if l.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Interface.Update(ctx, to)
}

// TestLostBeforeTheLeaseExpires: a leader that cannot renew the Lease notices before another process
// can lead, even if the API server answers no request.
func TestLostBeforeTheLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		lock := &hangingLock{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "first"},
		}}
		lost := make(chan struct{})
		first, err := New(t.Context(), lock, func() {}, electionConfig(t), leaderelection.NewLeaderHealthzAdaptor(WatchdogTime), func() { close(lost) })
		if err != nil {
			t.Fatal(err)
		}
		first.Run(t.Context())
		<-first.Leading()
		second := newCandidate(t, "second", client)
		second.Run(t.Context())
		time.Sleep(time.Minute)
		lock.hangs.Store(true)
		select {
		case <-lost:
		case <-second.Leading():
			t.Error("another instance leads, and the loss is not reported")
			<-lost
		}
		<-second.Leading()
		second.Release(t.Context())
	})
}

// TestFence: a client of the framework can always read, and write Events, but writes to Nodes only
// while this process leads. The caller of Close can wait for a write in flight.
func TestFence(t *testing.T) {
	arrived := make(chan struct{})
	answer := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			close(arrived)
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}`))
	}))
	defer api.Close()
	f := &Fence{}
	nodes := kubernetes.NewForConfigOrDie(f.Config(&rest.Config{Host: api.URL})).CoreV1().Nodes()
	write := func() error {
		_, err := nodes.Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
		return err
	}
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("before Open the write ends with %v, want ErrFenced", err)
	}
	if _, err := nodes.Get(t.Context(), "n", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	f.Open()
	if err := write(); err != nil {
		t.Error(err)
	}
	deleted := make(chan error)
	go func() { deleted <- nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}) }()
	<-arrived
	idle := f.Close()
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("after Close the write ends with %v, want ErrFenced", err)
	}
	select {
	case <-idle:
		t.Error("Close reports that no write is in flight during one")
	default:
	}
	close(answer)
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	<-idle
	// No write is in flight, so a second Close does not wait.
	<-f.Close()
	f.Open()
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("after Open of a closed fence the write ends with %v, want ErrFenced", err)
	}
}

// TestIdentity: the holder of the Lease names the Pod, so that it differs from other managers on the Node.
func TestIdentity(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for pod, want := range map[string]string{"vzones-x2x4b": "vzones-x2x4b_", "": host + "_"} {
		t.Setenv("POD_NAME", pod)
		first, err := newIdentity()
		if err != nil {
			t.Fatal(err)
		}
		second, err := newIdentity()
		if err != nil || first == second || !strings.HasPrefix(first, want) {
			t.Errorf("with POD_NAME=%q the identities are %q and %q, error %v, want two that begin with %q", pod, first, second, err, want)
		}
	}
}
