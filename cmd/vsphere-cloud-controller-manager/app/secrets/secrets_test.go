package secrets

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ref = config.SecretRef{Namespace: "kube-system", Name: "vsphere"}

func secret(name, password string) *v1.Secret {
	return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string][]byte{"password": []byte(password)}}
}

// follow runs a Watcher of Secrets until the test ends, and returns the channel of its reports.
func follow(t *testing.T, client *fake.Clientset, refs ...config.SecretRef) (*Watcher, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 100)
	w := New(client, func() { changed <- struct{}{} })
	w.Apply(refs)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w, changed
}

func get(t *testing.T, w *Watcher) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	secret, err := w.Get(ctx, ref)
	if err != nil {
		return "", err
	}
	return string(secret.Data["password"]), nil
}

// until waits until a Secret contains a password, or does not exist if the password is "".
func until(t *testing.T, w *Watcher, changed <-chan struct{}, password string) {
	t.Helper()
	for {
		got, err := get(t, w)
		if got == password && (err == nil) == (password != "") {
			return
		}
		select {
		case <-changed:
		case <-time.After(2 * time.Minute):
			t.Fatalf("it holds %q (%v), never %q", got, err, password)
		}
	}
}

func TestASecretIsFollowed(t *testing.T) {
	client := fake.NewClientset(secret("vsphere", "first"), secret("another", "other"))
	w, changed := follow(t, client, ref)
	until(t, w, changed, "first")
	api := client.CoreV1().Secrets("kube-system")
	if _, err := api.Update(t.Context(), secret("vsphere", "second"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, w, changed, "second")
	if err := api.Delete(t.Context(), "vsphere", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, w, changed, "")
	if _, err := get(t, w); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "kube-system/vsphere") {
		t.Errorf("a deleted Secret: error %v, want not found, with its name", err)
	}
	if _, err := api.Create(t.Context(), secret("vsphere", "third"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, w, changed, "third")
	// Every request is for one name, so that permission for this Secret is sufficient.
	for _, a := range client.Actions() {
		var only string
		switch a := a.(type) {
		case clienttesting.ListActionImpl:
			only = a.ListOptions.FieldSelector
		case clienttesting.WatchActionImpl:
			only = a.ListOptions.FieldSelector
		default:
			continue
		}
		if only != "metadata.name=vsphere" || a.GetNamespace() != "kube-system" {
			t.Errorf("%s of %q in %q", a.GetVerb(), only, a.GetNamespace())
		}
	}
}

func TestASecretThatMayNotBeRead(t *testing.T) {
	client := fake.NewClientset(secret("vsphere", "first"))
	allowed := make(chan struct{})
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-allowed:
			return false, nil, nil
		default:
			return true, nil, apierrors.NewForbidden(v1.Resource("secrets"), "vsphere", errors.New("RBAC"))
		}
	})
	w, changed := follow(t, client, ref)
	if _, err := get(t, w); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "kube-system/vsphere") {
		t.Errorf("a Secret that may not be read: error %v, want forbidden, with its name", err)
	}
	close(allowed)
	until(t, w, changed, "first")
}

// TestASecretThatIsNoLongerWatched: Get returns before its deadline.
func TestASecretThatIsNoLongerWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(secret("vsphere", "first"))
		asked := make(chan struct{}, 10)
		answer := make(chan struct{})
		client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			asked <- struct{}{}
			<-answer
			return false, nil, nil
		})
		w, _ := follow(t, client, ref)
		defer close(answer)
		<-asked
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		got := make(chan error, 1)
		go func() {
			_, err := w.Get(ctx, ref)
			got <- err
		}()
		synctest.Wait()
		w.Apply(nil)
		w.Apply([]config.SecretRef{ref})
		if err := <-got; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a Secret that is no longer watched: error %v, want one before the deadline", err)
		}
	})
}

func TestOtherSecrets(t *testing.T) {
	other := config.SecretRef{Namespace: "kube-system", Name: "another"}
	client := fake.NewClientset(secret("vsphere", "first"), secret("another", "other"))
	w, changed := follow(t, client, other)
	if _, err := get(t, w); err == nil || !strings.Contains(err.Error(), "not watched") {
		t.Errorf("a Secret that is not watched: error %v", err)
	}
	w.Apply([]config.SecretRef{ref, ref})
	until(t, w, changed, "first")
	if _, err := w.Get(t.Context(), other); err == nil {
		t.Error("a Secret that is no longer watched is returned")
	}
}

// lockProbe is a log output that fails the test if a line is written under a lock.
type lockProbe struct {
	t     *testing.T
	lock  *sync.Mutex
	lines int
}

func (p *lockProbe) Write(line []byte) (int, error) {
	p.lines++
	if p.lock.TryLock() {
		p.lock.Unlock()
	} else {
		p.t.Errorf("the lock of the Secret is held while this is logged: %s", line)
	}
	return len(line), nil
}

// TestErrorsAreLoggedOnce: each error is logged once, and without the lock, so that a slow log delays no Get.
func TestErrorsAreLoggedOnce(t *testing.T) {
	s := newWatched(fake.NewClientset(), ref)
	out := &lockProbe{t: t, lock: &s.mu}
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
	forbidden := errors.New("forbidden")
	for _, err := range []error{forbidden, forbidden, errors.New("no answer"), nil, forbidden} {
		s.record(log, err)
	}
	if out.lines != 3 {
		t.Errorf("%d lines are logged, want 3", out.lines)
	}
}

func TestBeforeRun(t *testing.T) {
	w := New(fake.NewClientset(secret("vsphere", "first")), func() {})
	w.Apply([]config.SecretRef{ref})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Get(ctx, ref); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before Run: error %v, want the deadline", err)
	}
}

func TestOnce(t *testing.T) {
	once := Once{Client: fake.NewClientset(secret("vsphere", "first"))}
	if secret, err := once.Get(t.Context(), ref); err != nil || string(secret.Data["password"]) != "first" {
		t.Errorf("not read: %v", err)
	}
	if _, err := once.Get(t.Context(), config.SecretRef{Namespace: "default", Name: "vsphere"}); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret of another namespace: error %v, want not found", err)
	}
}
