package cluster

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Programs of a control plane, as used by Find and Options.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	Scheduler         = "kube-scheduler"
	ControllerManager = "kube-controller-manager"
	HollowKubelet     = "hollow-kubelet"
)

// NodeLifecycle is the controller that sets Ready to Unknown if a kubelet is silent, and taints Nodes that are not ready.
const NodeLifecycle = "node-lifecycle-controller"

// ErrNoBinaries is returned if a program of the control plane is not built.
var ErrNoBinaries = errors.New("make controlplane builds them")

// Find returns the paths of the named programs, by default etcd and kube-apiserver. It searches
// $KUBEBUILDER_ASSETS and then bin/controlplane at the root of this module. The error names the
// missing programs and wraps ErrNoBinaries.
func Find(names ...string) (map[string]string, error) {
	if len(names) == 0 {
		names = []string{Etcd, APIServer}
	}
	var folders []string
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		folders = append(folders, assets)
	}
	if root, ok := moduleRoot(); ok {
		folders = append(folders, filepath.Join(root, "bin", "controlplane"))
	}
	found := make(map[string]string)
	var missing []string
	for _, name := range names {
		isThere := func(folder string) bool {
			_, err := exec.LookPath(filepath.Join(folder, name))
			return err == nil
		}
		i := slices.IndexFunc(folders, isThere)
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		path, err := filepath.Abs(filepath.Join(folders[i], name))
		if err != nil {
			return nil, err
		}
		found[name] = path
	}
	if len(missing) == 0 {
		return found, nil
	}
	return nil, fmt.Errorf("%s: not in %s: %w", strings.Join(missing, ", "), strings.Join(folders, " or "), ErrNoBinaries)
}

// Wanted returns an error if the calling test must be skipped: with -short, or if one of the named
// programs is not built.
func Wanted(names ...string) error {
	if !flag.Parsed() {
		flag.Parse()
	}
	if testing.Short() {
		return errors.New("it needs a control plane, which -short leaves out")
	}
	_, err := Find(names...)
	return err
}

// moduleRoot searches for the module's go.mod from the working folder upwards. It ignores the go.mod of
// nested modules.
func moduleRoot() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && slices.Contains(strings.Split(string(content), "\n"), "module vzones") {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
