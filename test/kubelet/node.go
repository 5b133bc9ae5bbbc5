//go:build linux

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Files of a Node in its own namespaces.
const (
	nodeDir        = "/run/vzones"
	nodeBin        = nodeDir + "/bin"
	kubeconfigFile = nodeDir + "/kubeconfig"
	packages       = nodeBin + "/kubelet/packages" // the files of the Debian packages
)

// startTimeout bounds the start of containerd.
const startTimeout = time.Minute

// nodeOptions describe a Node to the process with roleNode.
type nodeOptions struct {
	Name string
	// Bin is the absolute path of the folder with all programs.
	Bin string
	// SystemUUID is the UUID in SMBIOS.
	SystemUUID string
	// Address is where the kubelet listens. NodeIP is its flag --node-ip.
	Address, NodeIP string
	Kubeconfig      []byte
	// Archives are the files with images, relative to bin. Tags are further names of an image.
	Archives []string
	Tags     map[string]string
}

// runNode runs containerd and a kubelet until one of them ends. They cannot write any file, sysctl or cgroup outside the
// Node's namespaces.
func runNode(ctx context.Context, description string) error {
	var o nodeOptions
	if err := json.Unmarshal([]byte(description), &o); err != nil {
		return err
	}
	// The end of this process is the end of the Node's namespaces.
	context.AfterFunc(ctx, func() { os.Exit(0) })
	if err := os.Chdir(o.Bin); err != nil {
		return err
	}
	for _, prepare := range []func(*nodeOptions) error{prepareMounts, writeNodeFiles} {
		if err := prepare(&o); err != nil {
			return err
		}
	}
	containerd, err := start("containerd", "--config="+nodeDir+"/containerd.toml")
	if err != nil {
		return err
	}
	if err := importImages(ctx, &o); err != nil {
		return err
	}
	args := []string{
		"--config=" + nodeDir + "/kubelet.yaml", "--kubeconfig=" + kubeconfigFile, "--cloud-provider=external", "--v=2",
	}
	if o.NodeIP != "" {
		args = append(args, "--node-ip="+o.NodeIP)
	}
	kubelet, err := start(nodeBin+"/controlplane/kubelet", args...)
	if err != nil {
		return err
	}
	return reap(map[int]string{containerd: "containerd", kubelet: "the kubelet"})
}

// start starts a program that reap waits for.
func start(name string, args ...string) (pid int, err error) {
	cmd := exec.Command(name, args...)
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// reap waits for all processes, as the first process of a system does, until one of the named ones ends.
func reap(named map[int]string) error {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if name := named[pid]; name != "" {
			return fmt.Errorf("%s ended with status %d, signal %d", name, status.ExitStatus(), status.Signal())
		}
	}
}

// sysctls are the global ones that kubelets set, with the values that they want.
var sysctls = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

func prepareMounts(o *nodeOptions) error {
	if err := unix.Sethostname([]byte(o.Name)); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := makeReadOnly(); err != nil {
		return err
	}
	// crun rejects hosts with both versions of cgroups.
	if err := unix.Unmount("/sys/fs/cgroup/unified", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmounting cgroups: %w", err)
	}
	mounts := []mount{{source: "proc", target: "/proc", kind: "proc"}}
	for _, folder := range []string{"/run", "/tmp", "/var/lib", "/var/log"} {
		mounts = append(mounts, mount{source: "tmpfs", target: folder, kind: "tmpfs"})
	}
	if err := mountAll(mounts); err != nil {
		return err
	}
	const smbios, work = nodeDir + "/sys/upper", nodeDir + "/sys/work"
	if err := errors.Join(os.MkdirAll(nodeBin, 0o755), os.MkdirAll(smbios+"/dmi/id", 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	if err := os.WriteFile(smbios+"/dmi/id/product_uuid", []byte(strings.ToUpper(o.SystemUUID)+"\n"), 0o400); err != nil {
		return err
	}
	mounts = []mount{
		// The working folder may be covered by now.
		{source: ".", target: nodeBin, flags: unix.MS_BIND},
		{source: "overlay", target: "/sys/class", kind: "overlay", data: "lowerdir=/sys/class,upperdir=" + smbios + ",workdir=" + work},
		{source: "/proc/sys", target: "/proc/sys", flags: unix.MS_BIND},
		{target: "/proc/sys", flags: unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY},
	}
	for name, value := range sysctls {
		file := filepath.Join(nodeDir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		mounts = append(mounts, mount{source: file, target: "/proc/sys/" + name, flags: unix.MS_BIND})
	}
	return mountAll(mounts)
}

var (
	//go:embed containerd.toml
	containerdConfig string
	//go:embed kubelet.yaml
	kubeletConfig string
	//go:embed crun
	crunWrapper string
)

// networkConfig makes the Node ready. No Pod uses it, because all use the network of their Node.
const networkConfig = `{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "none"}]}`

func writeNodeFiles(o *nodeOptions) error {
	files := map[string]string{
		"containerd.toml":      containerdConfig,
		"kubelet.yaml":         strings.ReplaceAll(kubeletConfig, "ADDRESS", o.Address),
		"kubeconfig":           string(o.Kubeconfig),
		"cni/10-none.conflist": networkConfig,
		"resolv.conf":          "nameserver 10.0.0.2\n", // answers nothing
		"crun":                 crunWrapper,
	}
	for name, content := range files {
		path := filepath.Join(nodeDir, name)
		mode := fs.FileMode(0o600)
		if name == "crun" {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), mode)); err != nil {
			return err
		}
	}
	libraries, err := filepath.Glob(packages + "/usr/lib/*-linux-gnu")
	return errors.Join(err,
		os.Setenv("PATH", strings.Join([]string{packages + "/usr/bin", packages + "/usr/sbin", os.Getenv("PATH")}, ":")),
		os.Setenv("LD_LIBRARY_PATH", strings.Join(append(libraries, packages+"/usr/lib"), ":")),
		os.Setenv("TMPDIR", "/tmp"),
	)
}

// importImages waits for containerd and imports the images.
func importImages(ctx context.Context, o *nodeOptions) error {
	ctr := func(args ...string) error {
		out, err := exec.CommandContext(ctx, "ctr", append([]string{"--namespace=k8s.io"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ctr %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(context.Context) (bool, error) { return ctr("version") == nil, nil })
	if err != nil {
		return fmt.Errorf("containerd does not start: %w", errors.Join(err, ctr("version")))
	}
	for _, archive := range o.Archives {
		if err := ctr("images", "import", filepath.Join(nodeBin, archive)); err != nil {
			return err
		}
	}
	for tag, image := range o.Tags {
		if err := ctr("images", "tag", image, tag); err != nil {
			return err
		}
	}
	return nil
}
