package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// The size of the cluster, and the latency of a vCenter.
const (
	scaleVCenters, scaleNodes = 10, 500
	scaleDelay                = 5 * time.Millisecond
	scaleRequests             = 40
)

// scaled are the measured commands with their expected output and time limit.
var scaled = []struct {
	name   string
	args   []string
	says   string
	status int
	within time.Duration
}{
	{"nodes", []string{"nodes"}, "\nn9-c11--0040 ", findings, 10 * time.Second},
	{"map", []string{"map"}, "10 vCenters, 10 regions, 10 zones, 120 clusters, 1,440 hosts, 5,000 Nodes", 0, 10 * time.Second},
	{"map as a page", []string{"map", "-o", "html"}, "<!doctype html>", 0, 10 * time.Second},
	{"check", []string{"check"}, "ERROR VZ301 a Node has an incorrect region or zone (500 Nodes)", findings, 20 * time.Second},
	{"explain", []string{"explain", "n9-c11--0040"}, "Node n9-c11--0040 ", findings, 2 * time.Second},
}

// TestScale runs commands on a cluster of 5,000 Nodes on 10 vCenters with 5,000 CSINodes, of which one
// vCenter's Nodes are stale. It runs only if VZONES_SCALE names the tool: the setup takes minutes, and
// the times are valid only on an idle host.
func TestScale(t *testing.T) {
	tool := os.Getenv("VZONES_SCALE")
	if tool == "" {
		t.Skip("VZONES_SCALE is not set: .ci/bench-tool sets it")
	}
	ctx := t.Context()
	s, err := stack.Start(ctx, stack.Options{Fleet: scaleFleet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop() //nolint:errcheck // the test has its result
	config := filepath.Join(t.TempDir(), "vsphere.yaml")
	if _, err := s.WriteConfig(""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(s.Config(), "labels:\n  region: region\n  zone: zone\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	populate(ctx, t, s)
	for _, v := range s.Fleet.VCenters() {
		v.SetDelay(scaleDelay)
	}
	for _, c := range scaled {
		for _, v := range s.Fleet.VCenters() {
			v.ResetRequests()
		}
		cmd := exec.CommandContext(ctx, tool, append(c.args, "-c", config, "--kubeconfig", s.Cluster.AdminKubeconfig())...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		began := time.Now()
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		took, most := time.Since(began), 0
		for _, v := range s.Fleet.VCenters() {
			most = max(most, v.Total()-max(v.Requests()["WaitForUpdatesEx"]-1, 0)) // Excludes further pages.
		}
		t.Logf("%-14s %5.1f s, %5.1f s of CPU, %d requests to a vCenter beside pages, %d bytes of output",
			c.name, took.Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), most, stdout.Len())
		if !strings.Contains(stdout.String(), c.says) || cmd.ProcessState.ExitCode() != c.status {
			t.Errorf("%s: exit status %d, and it does not say %q: %.2000s\n%s", c.name, cmd.ProcessState.ExitCode(), c.says, &stdout, &stderr)
		}
		if took > c.within || most > scaleRequests {
			t.Errorf("%s: %v and %d requests are too many: %v and %d", c.name, took, most, c.within, scaleRequests)
		}
	}
}

// scaleFleet describes vCenters with 12 clusters of 12 hosts each.
func scaleFleet() string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for i := range scaleVCenters {
		fmt.Fprintf(&b, "- name: v%d\n  datacenters:\n  - name: dc1\n    tags: {region: r%[1]d, zone: z%[1]d}\n    clusters:\n", i)
		for c := range 12 {
			fmt.Fprintf(&b, "    - {name: c%d, hosts: 12}\n", c)
		}
		b.WriteString("    vms:\n")
		for c := range 12 {
			most := scaleNodes / 12
			if c < scaleNodes%12 {
				most++
			}
			fmt.Fprintf(&b, "    - {name: n%d-c%d-, cluster: c%d, count: %d}\n", i, c, c, most)
		}
	}
	return b.String()
}

// populate creates initialized Nodes.
func populate(ctx context.Context, t *testing.T, s *stack.Stack) {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Cluster.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS, cfg.ContentType = -1, "application/vnd.kubernetes.protobuf"
	client := kubernetes.NewForConfigOrDie(cfg)
	make32 := func(n int, one func(i int) error) {
		workqueue.ParallelizeUntil(ctx, 32, n, func(i int) {
			if err := one(i); err != nil {
				t.Error(err)
			}
		})
	}
	var vms []fleet.VM
	var zones, labels []string
	for i, v := range s.Fleet.VCenters() {
		for _, m := range v.VMs() {
			vms, zones = append(vms, m), append(zones, fmt.Sprint(i))
			labels = append(labels, "z"+fmt.Sprint(max(i, 1))) // The first vCenter's Nodes have the labels of the second.
		}
	}
	make32(len(vms), func(i int) error {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: vms[i].Name, Labels: map[string]string{
			v1.LabelTopologyRegion: "r" + zones[i], v1.LabelFailureDomainBetaRegion: "r" + zones[i],
			v1.LabelTopologyZone: labels[i], v1.LabelFailureDomainBetaZone: labels[i],
			"topology.csi.vmware.com/region": "r" + zones[i], "topology.csi.vmware.com/zone": "z" + zones[i],
		}}}
		n.Spec.ProviderID = vms[i].ProviderID()
		n.Status.NodeInfo.SystemUUID = vms[i].UUID
		if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return err
		}
		csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		csi.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "csi.vsphere.vmware.com", NodeID: n.Name, TopologyKeys: []string{"topology.csi.vmware.com/region", "topology.csi.vmware.com/zone"}}}
		_, err := client.StorageV1().CSINodes().Create(ctx, csi, metav1.CreateOptions{})
		return err
	})
}
