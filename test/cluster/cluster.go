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

	"vzones/test/process"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Options say how a control plane is run. The zero value is a good one.
type Options struct {
	// Controllers are the controllers that kube-controller-manager runs, as its
	// flag --controllers takes them. None of them may write to Nodes.
	Controllers []string
	// Flags are further flags for a program, by its name. They come last, so
	// that they win.
	Flags map[string][]string
}

// A Cluster is a running control plane. Its methods may be called from several
// goroutines, but not while one of them starts or stops programs.
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

	stop      func() error
	processes []*process.Process // in the order of their start; none after Stop
}

// Start starts etcd and kube-apiserver and returns when the API is ready: the
// default RBAC objects, the namespaces default and kube-system, and in both
// the ServiceAccount default, which Pods need. The context bounds the start
// only. The caller must call Stop; after an error there is nothing to stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "vzones-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, dir: dir}
	c.stop = sync.OnceValue(func() error { return errors.Join(c.Err(), c.shutdown()) })
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.shutdown())
	}
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
	// Idle connections would make the API server wait for us.
	if c.http != nil {
		net.CloseIdleConnectionsFor(c.http.Transport)
	}
	var errs []error
	for _, p := range slices.Backward(c.processes) {
		errs = append(errs, p.Stop(0))
	}
	c.processes = nil
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

// Err names the first program that has ended without Stop, with the last lines
// of its log. It is nil as long as all run.
func (c *Cluster) Err() error {
	for _, p := range c.processes {
		select {
		case <-p.Exited():
			return p.Failure()
		default:
		}
	}
	return nil
}

// AdminConfig is the configuration of a client that may do everything, without
// a limit on its requests. Each call returns another copy.
func (c *Cluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminKubeconfig is the path of a kubeconfig for the same. It is removed by
// Stop.
func (c *Cluster) AdminKubeconfig() string { return c.adminPath }

// Client is a client that may do everything.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
