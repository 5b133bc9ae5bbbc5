package container

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/process"
	"vzones/test/stack"
)

const (
	// daemonPath is the path of the daemon in images, also of the vSphere CPI's.
	daemonPath = "/bin/vsphere-cloud-controller-manager"
	// tokenPath is the folder of the ServiceAccount's token in Pods.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// loopback is the host for probes of Pods in the host network.
	loopback = "127.0.0.1"
)

// A Container runs the single container of a Pod as a process.
type Container struct {
	c         *cluster.Cluster
	pod       *corev1.Pod
	dir, root string
	// mounts are the volumes with files, by name.
	mounts  map[string]*stack.Mount
	process *process.Process
}

// Start starts the container of a Pod with a program as its image. Its files and its log are below dir, which
// must exist. Unsupported classifies the error. The caller must call Stop.
func Start(ctx context.Context, c *cluster.Cluster, pod *corev1.Pod, binary, dir string) (*Container, error) {
	k := &Container{c: c, pod: pod, dir: dir, root: filepath.Join(dir, "root"), mounts: map[string]*stack.Mount{}}
	if err := errors.Join(k.copyProgram(binary), k.writeToken(ctx), k.makeMounts()); err != nil {
		return nil, err
	}
	if err := k.Sync(ctx); err != nil {
		return nil, err
	}
	return k, k.run()
}

// Unsupported reports whether Start failed because this host does not permit changing a process's root.
func Unsupported(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

func (k *Container) run() error {
	environment, err := k.environment()
	if err != nil {
		return err
	}
	command := k.command()
	k.process, err = process.StartIn(k.root, k.dir, environment, "daemon", command[0], append(command[1:], k.container().Args...)...)
	return err
}

func (k *Container) container() *corev1.Container { return &k.pod.Spec.Containers[0] }

// command returns the path of the program in the image, and the arguments before the container's.
func (k *Container) command() []string {
	if c := k.container().Command; len(c) > 0 {
		return slices.Clone(c)
	}
	return []string{daemonPath}
}

func (k *Container) copyProgram(binary string) error {
	path := filepath.Join(k.root, k.command()[0])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	source, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func (k *Container) writeToken(ctx context.Context) error {
	answer, err := k.c.Client().CoreV1().ServiceAccounts(k.pod.Namespace).CreateToken(ctx, k.pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	dir := filepath.Join(k.root, tokenPath)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files := map[string][]byte{"token": []byte(answer.Status.Token), "ca.crt": k.c.AdminConfig().CAData, "namespace": []byte(k.pod.Namespace)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (k *Container) makeMounts() error {
	for _, m := range k.container().VolumeMounts {
		if m.MountPath == tokenPath {
			continue
		}
		path := filepath.Join(k.root, m.MountPath)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		mount, err := stack.NewMount(path)
		if err != nil {
			return err
		}
		k.mounts[m.Name] = mount
	}
	return nil
}

// Sync updates the files of the volumes, as a kubelet does every minute.
func (k *Container) Sync(ctx context.Context) error {
	for i := range k.pod.Spec.Volumes {
		v := &k.pod.Spec.Volumes[i]
		mount := k.mounts[v.Name]
		if mount == nil || v.EmptyDir != nil {
			continue
		}
		files, err := k.files(ctx, v)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		if isUpToDate(mount, files) {
			continue
		}
		if err := mount.Swap(files); err != nil {
			return err
		}
	}
	return nil
}

func (k *Container) files(ctx context.Context, v *corev1.Volume) (map[string][]byte, error) {
	core := k.c.Client().CoreV1()
	files := map[string][]byte{}
	switch {
	case v.ConfigMap != nil:
		m, err := core.ConfigMaps(k.pod.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for name, content := range m.Data {
			files[name] = []byte(content)
		}
		maps.Copy(files, m.BinaryData)
	case v.Secret != nil:
		s, err := core.Secrets(k.pod.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		maps.Copy(files, s.Data)
	default:
		return nil, errors.New("it is not of a ConfigMap or a Secret, and no other kind can be mounted here")
	}
	return files, nil
}

// isUpToDate reports whether a mount contains these files. Additional files are ignored, because a kubelet removes
// them with the next change.
func isUpToDate(mount *stack.Mount, files map[string][]byte) bool {
	for name, content := range files {
		current, err := os.ReadFile(mount.Path(name))
		if err != nil || string(current) != string(content) {
			return false
		}
	}
	return true
}

func (k *Container) environment() ([]string, error) {
	server, err := url.Parse(k.c.AdminConfig().Host)
	if err != nil {
		return nil, err
	}
	variables := []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	fields := map[string]string{
		"metadata.name": k.pod.Name, "metadata.namespace": k.pod.Namespace, "metadata.uid": string(k.pod.UID),
		"spec.nodeName": k.pod.Spec.NodeName,
	}
	for _, e := range k.container().Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			value = fields[e.ValueFrom.FieldRef.FieldPath]
		}
		variables = append(variables, e.Name+"="+value)
	}
	return variables, nil
}

// Probe runs a probe of the Pod. A nil probe succeeds.
func (k *Container) Probe(ctx context.Context, p *corev1.Probe) error {
	if p == nil || p.HTTPGet == nil {
		return nil
	}
	get := p.HTTPGet
	host := get.Host
	if host == "" {
		host = loopback
	}
	port := get.Port.String()
	for _, named := range k.container().Ports {
		if named.Name == port {
			port = fmt.Sprint(named.ContainerPort)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(host, port)+get.Path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as a kubelet does
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

// Log returns the daemon's output since its last start.
func (k *Container) Log() string {
	b, err := os.ReadFile(k.LogPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return string(b)
}

// LogPath returns the path of the daemon's log.
func (k *Container) LogPath() string { return filepath.Join(k.dir, "daemon.log") }

// Exited is closed when the process has exited.
func (k *Container) Exited() <-chan struct{} { return k.process.Exited() }

// Err returns nil if the process exited with status 0. Call it after Exited is closed.
func (k *Container) Err() error { return k.process.Err() }

// Stop stops the process with the Pod's grace period.
func (k *Container) Stop() error {
	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if s := k.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	return k.process.Stop(grace)
}

// Kill kills the process.
func (k *Container) Kill() error { return k.process.Stop(0) }
