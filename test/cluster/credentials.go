package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// Files in the cluster's folder.
const (
	caFile                      = "ca.crt"
	servingCertFile             = "serving.crt"
	servingKeyFile              = "serving.key"
	tokenKeyFile                = "tokens.key" // signs the ServiceAccounts' tokens
	adminKubeconfig             = "admin.kubeconfig"
	schedulerKubeconfig         = "scheduler.kubeconfig"
	controllerManagerKubeconfig = "controller-manager.kubeconfig"
)

const requestTimeout = 30 * time.Second

const tokenLifetime = 24 * 60 * 60 // seconds

func (c *Cluster) writeCredentials() (err error) {
	if c.ca, err = newTestCA(); err != nil {
		return err
	}
	cert, key, err := c.ca.serving()
	if err != nil {
		return err
	}
	tokens, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	files := map[string][]byte{caFile: c.ca.pem, servingCertFile: cert, servingKeyFile: key, tokenKeyFile: tokens}
	for name, content := range files {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return err
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	c.health = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13},
	}}
	return nil
}

// connect creates the clients for an API server on the given port.
func (c *Cluster) connect(port int) error {
	server := serverURL(port)
	cert, key, err := c.ca.client("vzones-test-admin", "system:masters")
	if err != nil {
		return err
	}
	c.admin = &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: cert, KeyData: key},
		QPS:             -1, // no rate limit: the API server has no other users
	}
	c.adminPath = c.path(adminKubeconfig)
	if err := c.writeKubeconfig(c.adminPath, server, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}); err != nil {
		return err
	}
	for user, file := range map[string]string{
		"system:kube-scheduler":          schedulerKubeconfig,
		"system:kube-controller-manager": controllerManagerKubeconfig,
	} {
		cert, key, err := c.ca.client(user)
		if err != nil {
			return err
		}
		if err := c.writeKubeconfig(c.path(file), server, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}); err != nil {
			return err
		}
	}
	return c.newClients()
}

func (c *Cluster) newClients() (err error) {
	if c.http, err = rest.HTTPClientFor(c.admin); err != nil {
		return err
	}
	// Protobuf takes a fraction of the time of JSON for thousands of Nodes.
	binary := c.AdminConfig()
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfigAndClient(binary, c.http)
	if err != nil {
		return err
	}
	if c.objects, err = dynamic.NewForConfigAndClient(c.admin, c.http); err != nil {
		return err
	}
	c.client = client
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	return nil
}

// ServiceAccountKubeconfig writes a kubeconfig with a token of a ServiceAccount, valid for a day, and
// returns its path. Stop removes it.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seconds := int64(tokenLifetime)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of the ServiceAccount %s/%s: %w", namespace, name, err)
	}
	file, err := os.CreateTemp(c.dir, "serviceaccount-*.kubeconfig")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return file.Name(), c.writeKubeconfig(file.Name(), c.admin.Host, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
}

// KubeletConfig returns the client configuration of a Node's kubelet: user system:node:<name> in group
// system:nodes. The Node does not have to exist.
func (c *Cluster) KubeletConfig(node string) (*rest.Config, error) {
	cert, key, err := c.kubeletCertificate(node)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            c.admin.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: cert, KeyData: key},
		QPS:             -1,
	}, nil
}

// WriteKubeletKubeconfig writes a kubeconfig with the client certificate of a Node's kubelet.
func (c *Cluster) WriteKubeletKubeconfig(path, node string) error {
	cert, key, err := c.kubeletCertificate(node)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(path, c.admin.Host, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

func (c *Cluster) kubeletCertificate(node string) (cert, key []byte, err error) {
	return c.ca.client("system:node:"+node, "system:nodes")
}

// writeKubeconfig writes a self-contained kubeconfig, readable only by the current user.
func (c *Cluster) writeKubeconfig(path, server string, user *clientcmdapi.AuthInfo) error {
	const name = "vzones"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.ca.pem}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}
