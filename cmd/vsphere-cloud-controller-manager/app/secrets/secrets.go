// Package secrets watches single Kubernetes Secrets, each by its name, so that the
// daemon needs no right to see any other. It never logs what is in them.
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

	applied signal.Signal // from Apply to Run

	mu      sync.Mutex
	secrets map[config.SecretRef]*watched
}

// New returns a Watcher that calls changed, from any goroutine, after a Secret was created,
// changed or deleted. Nothing is read until Run.
func New(client kubernetes.Interface, changed func()) *Watcher {
	return &Watcher{client: client, changed: changed, applied: signal.New()}
}

// Apply sets which Secrets are watched.
func (w *Watcher) Apply(refs []config.SecretRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.secrets
	w.secrets = make(map[config.SecretRef]*watched)
	for _, ref := range refs {
		if w.secrets[ref] = before[ref]; before[ref] == nil {
			w.secrets[ref] = newWatched(w.client, ref)
		}
	}
	for ref, s := range before {
		if w.secrets[ref] != s {
			close(s.dropped)
		}
	}
	w.applied.Notify()
}

// Run watches the Secrets until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	running := map[*watched]context.CancelFunc{}
	for {
		w.mu.Lock()
		now := maps.Clone(w.secrets)
		w.mu.Unlock()
		for s, cancel := range running {
			if now[s.ref] != s {
				cancel()
				delete(running, s)
			}
		}
		for _, s := range now {
			if running[s] == nil {
				own, cancel := context.WithCancel(ctx)
				running[s] = cancel
				all.Go(func() { s.run(own, w.changed) })
			}
		}
		select {
		case <-w.applied:
		case <-ctx.Done():
			return nil
		}
	}
}

// Get returns a Secret that is watched. It waits until the Secret was read once or cannot be
// read, as long as the context allows. The Secret must not be changed. Where there is no such Secret, the
// error is one for apimachinery's IsNotFound.
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

// only restricts a list or a watch to one Secret.
func only(ref config.SecretRef) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	}
}

// Once reads Secrets without watching them.
type Once struct{ Client kubernetes.Interface }

// Get returns a Secret now. It needs the right to list the Secret, as a Watcher does.
func (o Once) Get(ctx context.Context, ref config.SecretRef) (*v1.Secret, error) {
	var options metav1.ListOptions
	only(ref)(&options)
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

// A watched Secret has its informer, and why it cannot be read.
type watched struct {
	ref      config.SecretRef
	informer cache.SharedIndexInformer
	dropped  chan struct{} // Watcher.Apply closes it

	mu     sync.Mutex
	err    error         // why the Secret cannot be read now
	failed chan struct{} // closed as long as there is an error
}

func newWatched(client kubernetes.Interface, ref config.SecretRef) *watched {
	informer := informers.NewFilteredSecretInformer(client, ref.Namespace, 0, cache.Indexers{}, only(ref))
	return &watched{ref: ref, informer: informer, dropped: make(chan struct{}), failed: make(chan struct{})}
}

// run watches the Secret until the context is done.
func (s *watched) run(ctx context.Context, changed func()) {
	log := klog.FromContext(ctx).WithValues("secret", klog.KRef(s.ref.Namespace, s.ref.Name))
	report := func() { // the data is not compared: the receiver does that
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

// record records why the Secret cannot be read, nil if it can be, and logs each cause once.
func (s *watched) record(log klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // it is listed again at once
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && (s.err == nil || s.err.Error() != err.Error()) {
		log.Error(err, "Cannot read Secret; it is tried again")
	}
	if s.err == nil && err != nil {
		close(s.failed)
	} else if s.err != nil && err == nil {
		s.failed = make(chan struct{})
	}
	s.err = err
}

// synced waits until the Secret was read, is known not to exist, or cannot be read.
func (s *watched) synced(ctx context.Context) error {
	for !s.informer.HasSynced() {
		s.mu.Lock()
		err, failed := s.err, s.failed
		s.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-s.informer.HasSyncedChecker().Done():
		case <-failed:
		case <-s.dropped:
			return errors.New("it is not watched any more")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
