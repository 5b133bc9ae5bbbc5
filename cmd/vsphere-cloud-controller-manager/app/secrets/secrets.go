// Package secrets watches single Kubernetes Secrets by name, so that the daemon needs no permission for
// any other Secret. It never logs their data.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/signal"
)

// A Watcher watches Secrets by name.
type Watcher struct {
	client  kubernetes.Interface
	changed func()
	// applied wakes Run.
	applied signal.Signal

	mu      sync.Mutex
	secrets map[config.SecretRef]*watched
}

// New returns a Watcher. It calls changed, from any goroutine, after a Secret was created, changed or deleted.
func New(client kubernetes.Interface, changed func()) *Watcher {
	return &Watcher{client: client, changed: changed, applied: signal.New()}
}

// Apply sets the watched Secrets.
func (w *Watcher) Apply(refs []config.SecretRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	previous := w.secrets
	w.secrets = make(map[config.SecretRef]*watched)
	for _, ref := range refs {
		s := previous[ref]
		if s == nil {
			s = newWatched(w.client, ref)
		}
		w.secrets[ref] = s
	}
	for ref, s := range previous {
		if w.secrets[ref] == nil {
			close(s.dropped)
		}
	}
	w.applied.Notify()
}

// Run watches the Secrets until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	running := map[*watched]context.CancelFunc{}
	for {
		w.mu.Lock()
		current := maps.Clone(w.secrets)
		w.mu.Unlock()
		for s, cancel := range running {
			if current[s.ref] != s {
				cancel()
				delete(running, s)
			}
		}
		for _, s := range current {
			if running[s] == nil {
				watchCtx, cancel := context.WithCancel(ctx)
				running[s] = cancel
				group.Go(func() { s.run(watchCtx, w.changed) })
			}
		}
		select {
		case <-w.applied:
		case <-ctx.Done():
			return nil
		}
	}
}

// Get returns a watched Secret, which the caller must not change. It waits until the Secret was read once
// or cannot be read. If the Secret does not exist, apierrors.IsNotFound is true for the error.
func (w *Watcher) Get(ctx context.Context, ref config.SecretRef) (*v1.Secret, error) {
	w.mu.Lock()
	s := w.secrets[ref]
	w.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("the Secret %s/%s is not watched", ref.Namespace, ref.Name)
	}
	if err := s.synced(ctx); err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	object, _, _ := s.informer.GetStore().GetByKey(ref.Namespace + "/" + ref.Name)
	if read, ok := object.(*v1.Secret); ok {
		return read, nil
	}
	return nil, notFound(ref)
}

func notFound(ref config.SecretRef) error {
	return fmt.Errorf("the Secret %s/%s: %w", ref.Namespace, ref.Name, apierrors.NewNotFound(v1.Resource("secrets"), ref.Name))
}

func selectSecret(ref config.SecretRef) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	}
}

// Once reads Secrets without watching them.
type Once struct{ Client kubernetes.Interface }

// Get reads a Secret. Like a Watcher, it needs the permission to list the Secret.
func (o Once) Get(ctx context.Context, ref config.SecretRef) (*v1.Secret, error) {
	var options metav1.ListOptions
	selectSecret(ref)(&options)
	list, err := o.Client.CoreV1().Secrets(ref.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].Name == ref.Name {
			return &list.Items[i], nil
		}
	}
	return nil, notFound(ref)
}

type watched struct {
	ref      config.SecretRef
	informer cache.SharedIndexInformer
	// dropped is closed once the Secret is no longer watched.
	dropped chan struct{}

	mu sync.Mutex
	// err is from the last attempt to read the Secret.
	err error
	// failed is closed while err is not nil.
	failed chan struct{}
}

func newWatched(client kubernetes.Interface, ref config.SecretRef) *watched {
	informer := informers.NewFilteredSecretInformer(client, ref.Namespace, 0, cache.Indexers{}, selectSecret(ref))
	return &watched{ref: ref, informer: informer, dropped: make(chan struct{}), failed: make(chan struct{})}
}

func (s *watched) run(ctx context.Context, changed func()) {
	log := klog.FromContext(ctx).WithValues("secret", klog.KRef(s.ref.Namespace, s.ref.Name))
	report := func() {
		s.record(log, nil)
		changed()
	}
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { report() }, UpdateFunc: func(any, any) { report() }, DeleteFunc: func(any) { report() },
	})
	if err == nil {
		err = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { s.record(log, err) })
	}
	if err != nil {
		log.Error(err, "Cannot watch Secret")
	}
	s.informer.RunWithContext(ctx)
}

// record logs an error that differs from the previous error. It ignores an expired watch, since the
// informer then lists the Secret at once.
func (s *watched) record(log klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	previous := s.setError(err)
	if err != nil && (previous == nil || previous.Error() != err.Error()) {
		log.Error(err, "Cannot read Secret; retrying")
	}
}

func (s *watched) setError(err error) (previous error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous = s.err
	s.err = err
	switch {
	case previous == nil && err != nil:
		close(s.failed)
	case previous != nil && err == nil:
		s.failed = make(chan struct{})
	}
	return previous
}

func (s *watched) synced(ctx context.Context) error {
	for !s.informer.HasSynced() {
		s.mu.Lock()
		err := s.err
		failed := s.failed
		s.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-s.informer.HasSyncedChecker().Done():
		case <-failed:
		case <-s.dropped:
			return errors.New("it is no longer watched")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
