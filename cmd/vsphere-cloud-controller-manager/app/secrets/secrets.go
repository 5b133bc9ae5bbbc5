// Package secrets watches single Kubernetes Secrets, each by its name, so that the
// daemon needs no right to see any other. It never logs what is in them.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology/signal"
)

// A Watcher watches Secrets by name.
type Watcher struct {
	client  kubernetes.Interface
	changed func()

	applied signal.Signal // from Apply to Run

	mu       sync.Mutex
	watchers map[config.SecretRef]*secretWatcher
}

// New returns a Watcher that calls changed, from any goroutine, after a Secret was created,
// changed or deleted. Nothing is read until Run.
func New(client kubernetes.Interface, changed func()) *Watcher {
	return &Watcher{client: client, changed: changed, applied: signal.New(), watchers: map[config.SecretRef]*secretWatcher{}}
}

// Apply sets which Secrets are watched.
func (w *Watcher) Apply(refs []config.SecretRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make(map[config.SecretRef]*secretWatcher)
	for _, ref := range refs {
		s := w.watchers[ref]
		if s == nil {
			s = newSecretWatcher(w.client, ref)
		}
		now[ref] = s
	}
	for ref, s := range w.watchers {
		if now[ref] == nil {
			s.stop()
		}
	}
	w.watchers = now
	w.applied.Notify()
}

// Run watches the Secrets until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, s := range w.current() {
			if !s.started {
				s.started = true
				running.Go(func() { s.run(ctx, w.changed) })
			}
		}
		select {
		case <-w.applied:
		case <-ctx.Done():
			return nil
		}
	}
}

// current returns the watchers of all Secrets.
func (w *Watcher) current() []*secretWatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.watchers))
}

// Get returns the data of a Secret that is watched. It waits until the Secret was read once, as
// long as the context allows. The data must not be changed. Where there is no such Secret, the
// error is one for apimachinery's IsNotFound.
func (w *Watcher) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	w.mu.Lock()
	s := w.watchers[ref]
	w.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("the Secret %s/%s is not watched", ref.Namespace, ref.Name)
	}
	return s.get(ctx)
}

// Once reads Secrets without watching them.
type Once struct{ Client kubernetes.Interface }

// Get returns the data of a Secret now.
func (o Once) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	// A list with its name needs no other right than the watch does.
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	list, err := o.Client.CoreV1().Secrets(ref.Namespace).List(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].Name == ref.Name {
			return list.Items[i].Data, nil
		}
	}
	return nil, fmt.Errorf("reading Secret %s/%s: %w", ref.Namespace, ref.Name, apierrors.NewNotFound(v1.Resource("secrets"), ref.Name))
}

// A secretWatcher watches one Secret.
type secretWatcher struct {
	ref      config.SecretRef
	informer cache.SharedIndexInformer
	started  bool // only Watcher.Run uses it
	stopped  chan struct{}
	once     sync.Once

	mu sync.Mutex
	// lastErr is why the Secret cannot be read now; failed is closed as long as there is one.
	lastErr error
	failed  chan struct{}
}

func newSecretWatcher(client kubernetes.Interface, ref config.SecretRef) *secretWatcher {
	s := &secretWatcher{ref: ref, stopped: make(chan struct{}), failed: make(chan struct{})}
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	api := client.CoreV1().Secrets(ref.Namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.FieldSelector = only
			return api.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector = only
			return api.Watch(ctx, opts)
		},
	}
	s.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), &v1.Secret{}, 0, cache.Indexers{})
	return s
}

func (s *secretWatcher) stop() { s.once.Do(func() { close(s.stopped) }) }

func (s *secretWatcher) run(ctx context.Context, changed func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	log := klog.FromContext(ctx)
	// The data is not compared: the receiver does that.
	if _, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.readable(); changed() },
		UpdateFunc: func(any, any) { s.readable(); changed() },
		DeleteFunc: func(any) { s.readable(); changed() },
	}); err != nil {
		log.Error(err, "Cannot watch Secret", "secret", klog.KRef(s.ref.Namespace, s.ref.Name))
	}
	if err := s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.unreadable(log, err)
	}); err != nil {
		log.Error(err, "Cannot report errors of reading the Secret", "secret", klog.KRef(s.ref.Namespace, s.ref.Name))
	}
	go func() {
		<-s.stopped
		cancel()
	}()
	s.informer.RunWithContext(ctx)
}

// unreadable records why the Secret cannot be read, and logs it once.
func (s *secretWatcher) unreadable(log klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // it is listed again at once
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastErr == nil || s.lastErr.Error() != err.Error() {
		log.Error(err, "Cannot read Secret; it is tried again", "secret", klog.KRef(s.ref.Namespace, s.ref.Name))
	}
	if s.lastErr == nil {
		close(s.failed)
	}
	s.lastErr = err
}

// readable records that the Secret can be read.
func (s *secretWatcher) readable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastErr != nil {
		s.lastErr, s.failed = nil, make(chan struct{})
	}
}

func (s *secretWatcher) get(ctx context.Context) (map[string][]byte, error) {
	where := s.ref.Namespace + "/" + s.ref.Name
	if err := s.synced(ctx); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", where, err)
	}
	for _, object := range s.informer.GetStore().List() {
		if secret, ok := object.(*v1.Secret); ok && secret.Name == s.ref.Name {
			return secret.Data, nil
		}
	}
	return nil, fmt.Errorf("the Secret %s: %w", where, apierrors.NewNotFound(v1.Resource("secrets"), s.ref.Name))
}

// synced waits until the Secret was read or is known not to exist. It does not wait for one
// that cannot be read.
func (s *secretWatcher) synced(ctx context.Context) error {
	for !s.informer.HasSynced() {
		s.mu.Lock()
		err, failed := s.lastErr, s.failed
		s.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-s.informer.HasSyncedChecker().Done():
		case <-failed:
		case <-s.stopped:
			return errors.New("it is not watched any more")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
