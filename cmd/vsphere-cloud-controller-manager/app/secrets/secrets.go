// Package secrets watches single Kubernetes Secrets, each by its name, so that the
// daemon needs no right to see any other. It never logs what is in them.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
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
)

// ErrLogged says that a request with something secret is not made because client-go
// would log it.
var ErrLogged = errors.New("it would be logged: switch the feature gate ContextualLogging on or set -v to less than 8")

// A Watcher follows Secrets by name.
type Watcher struct {
	client  kubernetes.Interface
	changed func()

	mu sync.Mutex
	// ctx is that of Run, nil before.
	ctx     context.Context //nolint:containedctx // Apply starts what Run owns
	running sync.WaitGroup
	wanted  map[config.SecretRef]*follower
}

// New returns a Watcher that calls changed, from any goroutine, after a Secret has
// come, changed or gone. Nothing is read until Run.
func New(client kubernetes.Interface, changed func()) *Watcher {
	return &Watcher{client: client, changed: changed, wanted: map[config.SecretRef]*follower{}}
}

// Apply says which Secrets to follow from now on, instead of those before.
func (w *Watcher) Apply(refs []config.SecretRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make(map[config.SecretRef]*follower)
	for _, ref := range refs {
		f := w.wanted[ref]
		if f == nil {
			f = newFollower(w.client, ref)
		}
		now[ref] = f
	}
	for ref, f := range w.wanted {
		if now[ref] == nil {
			f.stop()
		}
	}
	w.wanted = now
	if w.ctx != nil {
		w.start(w.ctx)
	}
}

// start starts the followers that do not run yet. The lock is held.
func (w *Watcher) start(ctx context.Context) {
	for _, f := range w.wanted {
		if f.started {
			continue
		}
		f.started = true
		w.running.Go(func() { f.run(ctx, w.changed) })
	}
}

// Run follows the Secrets until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	w.mu.Lock()
	w.ctx = ctx
	w.start(ctx)
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	w.ctx = nil // nothing is started any more
	w.mu.Unlock()
	w.running.Wait()
	return nil
}

// Get returns what is in a Secret that is followed, waiting until it has been
// looked for once, as long as the context allows. It is not to be changed.
// Apimachinery's IsNotFound tells whether there is no such Secret.
func (w *Watcher) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	w.mu.Lock()
	f := w.wanted[ref]
	w.mu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("the Secret %s/%s is not followed", ref.Namespace, ref.Name)
	}
	return f.get(ctx)
}

// Once reads Secrets when it is asked, without following them.
type Once struct{ Client kubernetes.Interface }

// Get returns what is in a Secret now.
func (o Once) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	quiet, err := Quietly(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	// By its name in a list, so that it takes no other right than following it does.
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	list, err := o.Client.CoreV1().Secrets(ref.Namespace).List(quiet, metav1.ListOptions{FieldSelector: only})
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

// follower follows one Secret.
type follower struct {
	ref      config.SecretRef
	informer cache.SharedIndexInformer
	started  bool
	stopped  chan struct{}
	once     sync.Once

	mu sync.Mutex
	// trouble is why the Secret cannot be read now.
	trouble error
}

func newFollower(client kubernetes.Interface, ref config.SecretRef) *follower {
	f := &follower{ref: ref, stopped: make(chan struct{})}
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	api := client.CoreV1().Secrets(ref.Namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.FieldSelector = only
			quiet, err := Quietly(ctx)
			if err != nil {
				return nil, err
			}
			return api.List(quiet, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector = only
			quiet, err := Quietly(ctx)
			if err != nil {
				return nil, err
			}
			return api.Watch(quiet, opts)
		},
	}
	f.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), &v1.Secret{}, 0, cache.Indexers{})
	return f
}

// Quietly returns the context for requests whose bodies and answers client-go must not
// log, as it does at -v=8 and above, or ErrLogged where it would all the same.
func Quietly(ctx context.Context) (context.Context, error) {
	quiet := klog.NewContext(ctx, logr.Discard())
	if klog.FromContext(quiet).V(8).Enabled() {
		return nil, ErrLogged
	}
	return quiet, nil
}

func (f *follower) stop() { f.once.Do(func() { close(f.stopped) }) }

func (f *follower) run(ctx context.Context, changed func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, f.stop)
	defer stop()
	log := klog.FromContext(ctx)
	// What is in the object is not compared: whoever is told does that.
	if _, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.well(); changed() },
		UpdateFunc: func(any, any) { f.well(); changed() },
		DeleteFunc: func(any) { f.well(); changed() },
	}); err != nil {
		log.Error(err, "Cannot watch Secret", "secret", klog.KRef(f.ref.Namespace, f.ref.Name))
	}
	if err := f.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		f.note(log, err)
	}); err != nil {
		log.Error(err, "Cannot tell why a Secret is not read", "secret", klog.KRef(f.ref.Namespace, f.ref.Name))
	}
	go func() {
		<-f.stopped
		cancel()
	}()
	f.informer.RunWithContext(ctx)
}

// note keeps why the Secret cannot be read, and logs it once.
func (f *follower) note(log klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // it is listed again at once
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trouble == nil || f.trouble.Error() != err.Error() {
		log.Error(err, "Cannot read Secret; it is tried again", "secret", klog.KRef(f.ref.Namespace, f.ref.Name))
	}
	f.trouble = err
}

// well notes that the Secret can be read.
func (f *follower) well() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = nil
}

func (f *follower) get(ctx context.Context) (map[string][]byte, error) {
	where := f.ref.Namespace + "/" + f.ref.Name
	if err := f.synced(ctx); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", where, err)
	}
	for _, object := range f.informer.GetStore().List() {
		if s, ok := object.(*v1.Secret); ok && s.Name == f.ref.Name {
			return s.Data, nil
		}
	}
	return nil, fmt.Errorf("the Secret %s: %w", where, apierrors.NewNotFound(v1.Resource("secrets"), f.ref.Name))
}

// synced waits until the Secret was looked for. It does not wait for one that
// cannot be read.
func (f *follower) synced(ctx context.Context) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !f.informer.HasSynced() {
		f.mu.Lock()
		err := f.trouble
		f.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-f.stopped:
			return errors.New("it is not followed any more")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
