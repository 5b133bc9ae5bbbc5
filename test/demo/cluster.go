package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/test/cluster"
	"vzones/test/container"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// folder contains the files for the reader; toolConfig is the configuration of vzones.
	folder     = "bin/demo-cluster"
	toolConfig = "vsphere.yaml"
	// binary is the daemon, tool runs as its shadow, and incumbent is the vSphere CPI, which make incumbent builds.
	binary    = "bin/vsphere-cloud-controller-manager"
	tool      = "bin/vzones"
	incumbent = "bin/incumbent/vsphere-cloud-controller-manager"
	helm      = "bin/tools/helm"
	// controlPlane is the Node that runs the Pods of DaemonSets.
	controlPlane = "paris-1-0000"

	regionCategory = "k8s-region"
	zoneCategory   = "k8s-zone"

	delay = 5 * time.Millisecond
)

func startBare(ctx context.Context) (*stack.Stack, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{Fleet: fleetYAML, Bare: true, Cluster: cluster.Options{Controllers: []string{
		"daemonset-controller", "deployment-controller", "replicaset-controller", "serviceaccount-controller", "serviceaccount-token-controller",
		"root-ca-certificate-publisher-controller", "garbage-collector-controller", "pod-garbage-collector-controller", "namespace-controller",
	}}})
	if err != nil {
		return nil, err
	}
	for _, start := range []func(context.Context) error{s.Cluster.StartControllerManager, s.Cluster.StartScheduler} {
		if err := start(ctx); err != nil {
			return nil, fmt.Errorf("%w; %w", err, s.Stop())
		}
	}
	return s, nil
}

func (d *demo) registerAll(ctx context.Context) error {
	if err := d.stack.Register(ctx, d.stack.Fleet.VMs()...); err != nil {
		return err
	}
	role := []byte(`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`)
	_, err := d.stack.Client.CoreV1().Nodes().Patch(ctx, controlPlane, types.MergePatchType, role, metav1.PatchOptions{})
	return err
}

// writeFiles writes the files for installing a cloud controller manager. The configuration for vzones
// contains the credentials because the cluster has no Secret yet.
func (d *demo) writeFiles(ctx context.Context) error {
	if err := d.writeKubeconfig(); err != nil {
		return err
	}
	cas := filepath.Join(d.folder, "authorities")
	if err := os.Mkdir(cas, 0o700); err != nil {
		return err
	}
	config, err := fleet.ConfigYAML(d.stack.Fleet, fleet.ConfigOptions{Region: regionCategory, Zone: zoneCategory, CADir: cas})
	if err != nil {
		return err
	}
	files := map[string]string{toolConfig: string(config), "values.yaml": fleet.ChartValues(d.stack.Fleet, regionCategory, zoneCategory)}
	if cpi, err := cpiManifest(ctx, d.stack.Fleet); err == nil {
		files["cpi.yaml"] = cpi
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(d.folder, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) writeKubeconfig() error {
	if err := os.RemoveAll(d.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(d.stack.Cluster.AdminKubeconfig())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.folder, "kubeconfig"), kubeconfig, 0o600)
}

// writeConfig writes the daemon's configuration to the folder. vzones reads the credentials from the Secret.
func (d *demo) writeConfig() error {
	if err := d.writeKubeconfig(); err != nil {
		return err
	}
	config, err := os.ReadFile(d.config)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.folder, toolConfig), config, 0o600)
}

var exampleKind = regexp.MustCompile(`(?m)^kind: (ConfigMap|Secret)$`)

// cpiManifest returns the vSphere CPI's own manifest with the configuration of a fleet. It fails if make
// incumbent has not been run.
func cpiManifest(ctx context.Context, f *fleet.Fleet) (string, error) {
	if _, err := os.Stat(incumbent); err != nil {
		return "", err
	}
	dir, err := exec.CommandContext(ctx, "go", "list", "-C", "test/incumbent", "-m", "-f", "{{.Dir}}", "k8s.io/cloud-provider-vsphere").Output()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "releases", "*", "vsphere-cloud-controller-manager.yaml"))
	if err != nil || len(found) == 0 {
		return "", os.ErrNotExist
	}
	manifest, err := os.ReadFile(newest(found))
	if err != nil {
		return "", err
	}
	var kept []string
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		if !exampleKind.MatchString(document) {
			kept = append(kept, strings.TrimPrefix(document, "---\n"))
		}
	}
	var vcenters, accounts strings.Builder
	for _, v := range f.VCenters() {
		// The CPI accepts only SHA-1 thumbprints.
		thumbprint := soap.ThumbprintSHA1(v.Leaf())
		fmt.Fprintf(&vcenters, "      %s:\n        server: %s\n        port: %d\n        thumbprint: %q\n", v.Name(), v.Host(), v.Port(), thumbprint)
		fmt.Fprintf(&accounts, "  %s.username: %s\n  %s.password: %s\n", v.Host(), v.User(), v.Host(), v.Password())
	}
	kept = append(kept, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: vsphere-cloud-config, namespace: kube-system}
data:
  vsphere.conf: |
    global:
      secretName: vsphere-cloud-secret
      secretNamespace: kube-system
    vcenter:
%s    labels:
      region: %s
      zone: %s
`, &vcenters, regionCategory, zoneCategory), fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: vsphere-cloud-secret, namespace: kube-system}
stringData:
%s`, &accounts))
	return strings.Join(kept, "\n---\n"), nil
}

// newest returns the manifest of the highest release, by its folder name, such as v1.35.
func newest(manifests []string) string {
	newestMinor := -1
	path := ""
	for _, manifest := range manifests {
		_, minor, _ := strings.Cut(filepath.Base(filepath.Dir(manifest)), ".")
		if n, err := strconv.Atoi(minor); err == nil && n > newestMinor {
			newestMinor = n
			path = manifest
		}
	}
	return path
}

func (d *demo) agent() *container.Agent {
	return &container.Agent{
		Cluster: d.stack.Cluster, Dir: d.stack.Dir, Program: program,
		Print: func(format string, args ...any) {
			d.print("%s "+format, append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
		},
	}
}

func program(image string) string {
	name, _, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "vsphere-cloud-controller-manager":
		return binary
	case "vzones":
		return tool
	case "cloud-provider-vsphere":
		return incumbent
	}
	return ""
}
