package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"vzones/test/process"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Options say how a control plane is run. The zero value is a good one.
type Options struct {
	// Binaries are the programs' paths. One that is missing is looked for with
	// Find when it is started.
	Binaries Binaries
	// Dir is the folder in which the temporary folder is made; that of the
	// system if empty.
	Dir string
	// ReadyTimeout bounds the wait for each program to be ready; one minute if 0.
	ReadyTimeout time.Duration
	// Controllers are the controllers that kube-controller-manager runs, as its
	// flag --controllers takes them. If empty, these are the ones that a
	// Deployment needs and that clean up behind it; none of them writes to Nodes.
	Controllers []string
	// NodeLifecycle adds the controllers that mark a Node Unknown when it was
	// not heard of for 50 s, and that taint it and evict its Pods. There are no
	// kubelets, so every Node comes to that which SetNodeReady does not renew.
	// The API server then taints new Nodes as not ready, as it does by default.
	NodeLifecycle bool
	// Flags are further flags for a program, by its name. They come last, so
	// that they win.
	Flags map[string][]string

	freePort func() (int, error) // for tests
}

// errStopped is the answer to whoever still wants something of a stopped cluster.
var errStopped = errors.New("the control plane is stopped")

// A Cluster is a running control plane. Its methods may be called from several
// goroutines.
type Cluster struct {
	options Options
	dir     string
	ca      *authority
	health  *http.Client

	// Set by Start, constant afterwards.
	admin     *rest.Config
	adminPath string
	http      *http.Client
	client    kubernetes.Interface
	objects   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper

	stop     func() error
	stopping chan struct{} // closed when Stop begins
	failed   chan struct{} // closed once failure is set
	tasks    sync.WaitGroup

	mu        sync.Mutex
	launches  sync.WaitGroup // grows under mu only, and never once stopping is closed
	names     map[string]bool
	processes []*process.Process // those that are ready, in the order of their start
	failure   error
}

// Start starts etcd and kube-apiserver and returns when the API is ready: the
// default RBAC objects, the namespaces default and kube-system, and in both
// the ServiceAccount default, which Pods need. The context bounds the start
// only. The caller must call Stop; after an error there is nothing to stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.shutdown())
	}
	return c, nil
}

func newCluster(options Options) (*Cluster, error) {
	if options.ReadyTimeout == 0 {
		options.ReadyTimeout = time.Minute
	}
	if options.freePort == nil {
		options.freePort = process.FreePort
	}
	dir, err := os.MkdirTemp(options.Dir, "vzones-cluster-")
	if err != nil {
		return nil, err
	}
	// The programs run in this folder, and are given its absolute path.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	c := &Cluster{
		options:  options,
		dir:      dir,
		stopping: make(chan struct{}),
		failed:   make(chan struct{}),
		names:    make(map[string]bool),
	}
	c.stop = sync.OnceValue(func() error { return errors.Join(c.Err(), c.shutdown()) })
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	port, err := c.startAPIServer(ctx)
	if err != nil {
		return err
	}
	if err := c.connect(port); err != nil {
		return err
	}
	if err := c.checkVersion(); err != nil {
		return err
	}
	return c.awaitDefaults(ctx)
}

// versionVariable names the version of Kubernetes that a control plane has to be of,
// such as v1.36.4. Programs are looked for in several folders, and a test that means
// to show something about one version must not run with another.
const versionVariable = "VZONES_KUBERNETES"

func (c *Cluster) checkVersion() error {
	want := os.Getenv(versionVariable)
	if want == "" {
		return nil
	}
	got, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	if got.GitVersion != want {
		return fmt.Errorf("the API server is of Kubernetes %s, and %s demands %s", got.GitVersion, versionVariable, want)
	}
	return nil
}

// Stop kills all programs, the last one started first, since nothing that they have is
// kept, and removes the temporary folder. It returns within seconds whatever state they are in. Its error says
// what could not be ended or removed, and what had ended on its own before. A
// further call does nothing and returns the same.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) shutdown() error {
	c.mu.Lock()
	close(c.stopping)
	c.mu.Unlock()
	c.launches.Wait()

	// Idle connections would make the API server wait for us.
	if c.http != nil {
		net.CloseIdleConnectionsFor(c.http.Transport)
	}
	var errs []error
	for _, p := range slices.Backward(c.processes) {
		errs = append(errs, p.Stop(0))
	}
	err := errors.Join(errs...)
	if err == nil {
		c.tasks.Wait() // they end with their programs
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// Failed is closed when a program has ended without Stop; Err says which.
func (c *Cluster) Failed() <-chan struct{} { return c.failed }

// Err names the first program that has ended without Stop, with the last lines
// of its log. It is nil as long as all run, and after a Stop that found them
// running.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// AdminConfig is the configuration of a client that may do everything, without
// a limit on its requests. Each call returns another copy.
func (c *Cluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminKubeconfig is the path of a kubeconfig for the same. It is removed by
// Stop.
func (c *Cluster) AdminKubeconfig() string { return c.adminPath }

// Client is a client that may do everything.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// LogPath is where a program's output goes. It is removed by Stop.
func (c *Cluster) LogPath(program string) string { return c.path(program + ".log") }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// binary returns the path of a program.
func (c *Cluster) binary(name string) (string, error) {
	if path := c.options.Binaries[name]; path != "" {
		return filepath.Abs(path) // it is started in another folder
	}
	found, err := Find(name)
	if err != nil {
		return "", fmt.Errorf("starting %s: %w", name, err)
	}
	return found[name], nil
}
