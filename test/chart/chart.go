// Package chart runs Helm on the chart in manifests/chart. Its tests check, write and install the
// rendered manifests.
package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrNoHelm is returned if Helm is not built.
var ErrNoHelm = errors.New("make helm builds it")

// Helm runs a Helm program on the chart of this module.
type Helm struct {
	path, root string
}

// Find returns the Helm that the Makefile builds.
func Find() (*Helm, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "manifests", "chart", "Chart.yaml")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return nil, errors.New("the working folder is not within this module")
		}
		root = filepath.Dir(root)
	}
	path := filepath.Join(root, "bin", "tools", "helm")
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrNoHelm)
	}
	return &Helm{path: path, root: root}, nil
}

// Root returns the folder of this module.
func (h *Helm) Root() string { return h.root }

// Chart returns the folder of the chart.
func (h *Helm) Chart() string { return filepath.Join(h.root, "manifests", "chart") }

// Example returns the path of an example values file.
func (h *Helm) Example(name string) string {
	return filepath.Join(h.Chart(), "examples", name+".yaml")
}

// Run runs Helm and returns its standard output. An error contains its standard error. The user's
// Helm configuration is ignored.
func (h *Helm) Run(ctx context.Context, args ...string) ([]byte, error) {
	home, err := os.MkdirTemp("", "vzones-helm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	cmd := exec.CommandContext(ctx, h.path, args...)
	cmd.Dir = h.root
	cmd.Env = append(without(os.Environ(), "HELM_", "KUBECONFIG="),
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, stderr bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("helm %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out.Bytes(), nil
}

func without(environ []string, prefixes ...string) []string {
	var rest []string
	for _, e := range environ {
		drop := false
		for _, p := range prefixes {
			drop = drop || strings.HasPrefix(e, p)
		}
		if !drop {
			rest = append(rest, e)
		}
	}
	return rest
}

// Template renders the chart for kube-system with values files, without a cluster.
func (h *Helm) Template(ctx context.Context, values ...string) ([]byte, error) {
	args := []string{"template", "vzones", h.Chart(), "--namespace", "kube-system"}
	for _, v := range values {
		args = append(args, "--values", v)
	}
	return h.Run(ctx, args...)
}

// header is the start of the plain manifest.
const header = `# vzones as the cloud controller manager of one cluster.
#
#   kubectl apply -f vsphere-cloud-controller-manager.yaml
#
# Before that: write your vCenters into the ConfigMap and their credentials into
# the Secret, and set the image. The objects have the names that the vSphere CPI
# gives its own, so applying this replaces a CPI that was installed from its
# plain manifest. First delete the CPI's DaemonSet with --cascade=orphan: kubectl
# keeps fields that are not in this file, such as environment variables.
# docs/how-to/install.md tells more.
#
# It is rendered from the Helm chart in manifests/chart, with examples/plain.yaml:
# go test ./test/chart -update writes it.
`

// emptyLines matches the empty lines that Helm writes before an object separator.
var emptyLines = regexp.MustCompile(`\n{2,}---\n`)

// shadowHeader is the start of the shadow's manifest.
const shadowHeader = `# A shadow of vzones beside another cloud controller manager. It writes nothing.
#
#   kubectl apply -f vzones-shadow.yaml
#
# Before that: set the image, and the names of your ConfigMap and Secret if they differ from those in
# the vSphere CPI's manifest. docs/how-to/migrate.md tells more.
#
# It is rendered from the Helm chart in manifests/chart, with examples/shadow.yaml:
# go test ./test/chart -update writes it.
`

// Plain renders the plain manifest.
func (h *Helm) Plain(ctx context.Context) ([]byte, error) { return h.manifest(ctx, "plain", header) }

// Shadow renders the shadow's manifest.
func (h *Helm) Shadow(ctx context.Context) ([]byte, error) {
	return h.manifest(ctx, "shadow", shadowHeader)
}

func (h *Helm) manifest(ctx context.Context, example, header string) ([]byte, error) {
	rendered, err := h.Template(ctx, h.Example(example))
	if err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	plain.WriteString(header)
	first := true
	for line := range bytes.Lines(rendered) {
		separates := string(bytes.TrimSpace(line)) == "---"
		if bytes.HasPrefix(line, []byte("# Source: ")) || separates && first {
			first = first && !separates
			continue
		}
		plain.Write(line)
	}
	return emptyLines.ReplaceAll(plain.Bytes(), []byte("\n---\n")), nil
}
