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

// Options are the options of a control plane. The zero value is valid.
type Options struct {
	// Controllers is the value of kube-controller-manager's flag --controllers. With NodeLifecycle, the API server
	// taints each new Node as not ready until its kubelet is ready. No other controller may write to Nodes.
	Controllers []string
	// Flags are further flags by program name. They come last, so they take precedence.
	Flags map[string][]string
}

// A Cluster is a running control plane. Its methods may be called concurrently, except while a method
// starts or stops programs.
type Cluster struct {
	options Options
	dir     string
	ca      *testCA
	health  *http.Client

	// Constant after Start.
	admin     *rest.Config
	adminPath string
	http      *http.Client
	client    kubernetes.Interface
	objects   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper

	stop      func() error
	processes []*process.Process // in start order; nil after Stop
}

// Start starts etcd and kube-apiserver. It returns when the API is ready: the default RBAC objects, the
// namespaces default and kube-system, and the ServiceAccount default in both, which Pods need. ctx
// bounds the start only. The caller must call Stop, unless Start fails.
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

// versionVariable names the required Kubernetes version, such as v1.36.4. Programs come from several
// folders, and a test of one version must not run with another.
const versionVariable = "VZONES_KUBERNETES"

func (c *Cluster) checkVersion() error {
	required := os.Getenv(versionVariable)
	if required == "" {
		return nil
	}
	got, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	if got.GitVersion != required {
		return fmt.Errorf("the API server is of Kubernetes %s, and %s demands %s", got.GitVersion, versionVariable, required)
	}
	return nil
}

// Stop kills all programs in reverse order, without a graceful shutdown because no data is kept, and
// removes the temporary folder. It returns within seconds. The error names programs that could not be
// stopped, files that could not be removed, and programs that had exited before. Further calls return
// the same error.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) shutdown() error {
	// The API server would wait for idle connections.
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

// Err returns the first program that has exited without Stop, with the end of its log, or nil.
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

// AdminConfig returns a copy of the client configuration of an administrator without a rate limit.
func (c *Cluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminKubeconfig returns the path of an administrator's kubeconfig, which Stop removes.
func (c *Cluster) AdminKubeconfig() string { return c.adminPath }

// Client returns the client of an administrator.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
