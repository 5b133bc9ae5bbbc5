package election

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// hangingLock is one whose API server does not answer for a while.
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

// TestLostBeforeTheLeaseExpires: whoever cannot renew the Lease knows that before
// another one can lead, also if the API server leaves each request without an answer.
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
			t.Error("another one leads, and the first does not know")
			<-lost
		}
		<-second.Leading()
		second.Release(t.Context())
	})
}
