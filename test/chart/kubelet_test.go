package chart

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/process"
	"vzones/test/stack"
)

const (
	// program is where the image has the daemon.
	program = "/bin/vsphere-cloud-controller-manager"
	// tokenPath is where Pods have the token of their ServiceAccount.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// A kubelet runs the container of one Pod as a process with a root of its own, which has the
// daemon, the Pod's volumes and its token where the Pod says, and nothing else.
type kubelet struct {
	c         *cluster.Cluster
	namespace string
	pod       *corev1.PodSpec
	dir, root string
	// mounts are the volumes of ConfigMaps, by name.
	mounts  map[string]*stack.Mount
	process *process.Process
}

// runPod starts the Pod of a workload.
func runPod(t *testing.T, c *cluster.Cluster, namespace string, pod *corev1.PodSpec) *kubelet {
	t.Helper()
	dir := t.TempDir()
	k := &kubelet{c: c, namespace: namespace, pod: pod, dir: dir, root: filepath.Join(dir, "root"), mounts: map[string]*stack.Mount{}}
	if err := errors.Join(k.image(t), k.token(t.Context())); err != nil {
		t.Fatal(err)
	}
	container := pod.Containers[0]
	for _, m := range container.VolumeMounts {
		path := filepath.Join(k.root, m.MountPath)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mount, err := stack.NewMount(path)
		if err != nil {
			t.Fatal(err)
		}
		k.mounts[m.Name] = mount
	}
	k.sync(t)
	var err error
	k.process, err = process.StartIn(k.root, dir, k.environment(t), "daemon", program, container.Args...)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("left out: a process cannot be given another root here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.process.Stop(0) })
	return k
}

// image puts the daemon where the image has it, static, as the image has it.
func (k *kubelet) image(t *testing.T) error {
	path := filepath.Join(k.root, program)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := stack.DependOnSources(helm.Root()); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "vzones/cmd/vsphere-cloud-controller-manager")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the daemon: %w\n%s", err, out)
	}
	return nil
}

// token writes what a Pod has of its ServiceAccount.
func (k *kubelet) token(ctx context.Context) error {
	answer, err := k.c.Client().CoreV1().ServiceAccounts(k.namespace).CreateToken(ctx, k.pod.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	dir := filepath.Join(k.root, tokenPath)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files := map[string][]byte{"token": []byte(answer.Status.Token), "ca.crt": k.c.AdminConfig().CAData, "namespace": []byte(k.namespace)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sync brings the files of the volumes up to date, as a kubelet does every minute.
func (k *kubelet) sync(t *testing.T) {
	t.Helper()
	for _, v := range k.pod.Volumes {
		if v.ConfigMap == nil {
			t.Fatalf("the volume %s is of no ConfigMap", v.Name)
		}
		m, err := k.c.Client().CoreV1().ConfigMaps(k.namespace).Get(t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for name, content := range m.Data {
			files[name] = []byte(content)
		}
		if err := k.mounts[v.Name].Swap(files); err != nil {
			t.Fatal(err)
		}
	}
}

// environment returns the container's variables: those of the Pod, and where the API
// server is, which each container has.
func (k *kubelet) environment(t *testing.T) []string {
	t.Helper()
	server, err := url.Parse(k.c.AdminConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	fields := map[string]string{"metadata.name": "vzones-0", "metadata.namespace": k.namespace, "metadata.uid": string(stack.Pod().UID)}
	for _, e := range k.pod.Containers[0].Env {
		value := e.Value
		if e.ValueFrom != nil {
			value = fields[e.ValueFrom.FieldRef.FieldPath]
		}
		all = append(all, e.Name+"="+value)
	}
	return all
}

// probe asks as a probe of the Pod does.
func (k *kubelet) probe(ctx context.Context, p *corev1.Probe) error {
	get := p.HTTPGet
	address := fmt.Sprintf("%s://%s%s", "https", net.JoinHostPort(get.Host, get.Port.String()), get.Path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", get.Path, res.Status, body)
	}
	return err
}

// log returns all that the daemon has printed.
func (k *kubelet) log() string {
	b, err := os.ReadFile(k.process.Log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return string(b)
}

// eventually tries until there is no error.
func eventually(t *testing.T, k *kubelet, what string, try func(ctx context.Context) error) {
	t.Helper()
	end := time.Now().Add(3 * time.Minute)
	for {
		err := try(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v\n%s", what, err, k.log())
		}
		select {
		case <-k.process.Exited():
			t.Fatalf("%s: the daemon has ended: %v\n%s", what, k.process.Err(), k.log())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
