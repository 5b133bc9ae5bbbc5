package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	loopback = "127.0.0.1"

	serviceRange   = "10.0.0.0/24"
	serviceAddress = "10.0.0.1" // the API server's address, first in the range

	// Socket paths are relative to the working folder of the programs, because absolute paths may
	// exceed the system's limit.

	etcdSocket = "etcd.sock"
	peerSocket = "peer.sock"
)

// startEtcd uses Unix sockets in a private folder, which need neither a port nor TLS.
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
			"--unsafe-no-fsync", // no data is kept
			"--log-level=warn",
		}
	}
	// The API server's readiness includes the health of etcd.
	_, err := c.launch(ctx, Etcd, args, func(context.Context, int) error {
		_, err := os.Stat(c.path(etcdSocket))
		return err
	})
	return err
}

func (c *Cluster) startAPIServer(ctx context.Context) (port int, err error) {
	args := func(port int) []string {
		flags := c.servingFlags(port)
		if !slices.Contains(c.options.Controllers, NodeLifecycle) {
			// It taints each new Node as not ready, and nothing would remove the taint.
			flags = append(flags, "--disable-admission-plugins=TaintNodesByCondition")
		}
		return append(flags,
			"--etcd-servers=unix://"+etcdSocket,
			"--advertise-address="+loopback,
			// Endpoints on the loopback interface are invalid, and nothing uses them.
			"--endpoint-reconciler-type=none",
			"--service-cluster-ip-range="+serviceRange,
			"--client-ca-file="+c.path(caFile),
			// Programs that delegate the authentication of /metrics requests expect these
			// settings, which every real cluster has.
			"--requestheader-client-ca-file="+c.path(caFile),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			// Kubelets may write only a part of their own Nodes.
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-signing-key-file="+c.path(tokenKeyFile),
			"--service-account-key-file="+c.path(tokenKeyFile),
			"--allow-privileged=true",
		)
	}
	return c.launch(ctx, APIServer, args, c.serves("readyz"))
}

// StartScheduler starts kube-scheduler as user system:kube-scheduler and waits until it is ready.
func (c *Cluster) StartScheduler(ctx context.Context) error {
	args := func(port int) []string {
		return append(c.servingFlags(port), "--kubeconfig="+c.path(schedulerKubeconfig), "--leader-elect=false")
	}
	_, err := c.launch(ctx, Scheduler, args, c.serves("readyz"))
	return err
}

// StartControllerManager starts kube-controller-manager as user system:kube-controller-manager and waits
// until it is ready. Each controller uses its own ServiceAccount.
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

// awaitDefaults waits for the namespaces of Pods, which the API server creates shortly after it is ready,
// and creates their ServiceAccount default, because no controller does.
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
