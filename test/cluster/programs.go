package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	loopback = "127.0.0.1"

	serviceRange   = "10.0.0.0/24"
	serviceAddress = "10.0.0.1" // the first of the range is the API server's

	// Sockets are named relative to the folder that the programs run in: their
	// absolute path may be longer than the system allows.

	etcdSocket = "etcd.sock"
	peerSocket = "peer.sock"
)

// startEtcd serves on Unix sockets in a folder that only this user can enter:
// no port to lose, no TLS to pay for.
func (c *Cluster) startEtcd(ctx context.Context) error {
	args := func(int) []string {
		return []string{
			"--name=etcd",
			"--data-dir=etcd",
			"--listen-client-urls=unix://" + etcdSocket,
			"--advertise-client-urls=unix://" + etcdSocket,
			"--listen-peer-urls=unix://" + peerSocket,
			"--initial-advertise-peer-urls=unix://" + peerSocket,
			"--initial-cluster=etcd=unix://" + peerSocket,
			"--unsafe-no-fsync", // nothing is kept anyway
			"--log-level=warn",
		}
	}
	// Whether it answers is for the API server to say: etcd's health is a part of its own.
	_, err := c.launch(ctx, Etcd, args, func(context.Context, int) error {
		_, err := os.Stat(c.path(etcdSocket))
		return err
	})
	return err
}

func (c *Cluster) startAPIServer(ctx context.Context) (port int, err error) {
	args := func(port int) []string {
		return append(c.servingFlags(port),
			"--etcd-servers=unix://"+etcdSocket,
			"--advertise-address="+loopback,
			// Endpoints may not be on the loopback, and nobody uses them.
			"--endpoint-reconciler-type=none",
			"--service-cluster-ip-range="+serviceRange,
			"--client-ca-file="+c.path(caFile),
			// As in every real cluster. Programs that ask the API server
			// who may read their metrics look for it.
			"--requestheader-client-ca-file="+c.path(caFile),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			// Kubelets may write their own Nodes only, and not all of those.
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-signing-key-file="+c.path(tokenKeyFile),
			"--service-account-key-file="+c.path(tokenKeyFile),
			"--allow-privileged=true",
			// It taints each new Node as not ready and leaves it to the
			// node-lifecycle controller, which does not run, to take that off again.
			"--disable-admission-plugins=TaintNodesByCondition",
		)
	}
	return c.launch(ctx, APIServer, args, c.serves("readyz"))
}

// StartScheduler starts kube-scheduler, with the credentials of
// system:kube-scheduler, and returns when it is ready.
func (c *Cluster) StartScheduler(ctx context.Context) error {
	args := func(port int) []string {
		return append(c.servingFlags(port), "--kubeconfig="+c.path(schedulerKubeconfig), "--leader-elect=false")
	}
	_, err := c.launch(ctx, Scheduler, args, c.serves("readyz"))
	return err
}

// StartControllerManager starts kube-controller-manager, with the credentials
// of system:kube-controller-manager and each controller with those of its own
// ServiceAccount, and returns when it is ready.
func (c *Cluster) StartControllerManager(ctx context.Context) error {
	args := func(port int) []string {
		return append(c.servingFlags(port),
			"--kubeconfig="+c.path(controllerManagerKubeconfig),
			"--leader-elect=false",
			"--use-service-account-credentials",
			"--root-ca-file="+c.path(caFile),
			"--controllers="+strings.Join(c.options.Controllers, ","),
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		)
	}
	_, err := c.launch(ctx, ControllerManager, args, c.serves("healthz"))
	return err
}

func (c *Cluster) servingFlags(port int) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.path(servingCertFile),
		"--tls-private-key-file=" + c.path(servingKeyFile),
		"--profiling=false",
	}
}

func (c *Cluster) serves(check string) func(context.Context, int) error {
	return func(ctx context.Context, port int) error {
		return healthy(ctx, c.health, fmt.Sprintf("%s/%s?verbose", serverURL(port), check))
	}
}

func serverURL(port int) string { return "https://" + net.JoinHostPort(loopback, strconv.Itoa(port)) }

// awaitDefaults makes the ServiceAccount default in the namespaces that Pods
// are put in, which no controller does as long as none runs. The namespaces
// themselves come from the API server, a moment after it is ready.
func (c *Cluster) awaitDefaults(ctx context.Context) error {
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
		err := c.await(ctx, readyTimeout, func(ctx context.Context) error {
			_, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("waiting for the namespace %s: %w", namespace, err)
		}
	}
	return nil
}
