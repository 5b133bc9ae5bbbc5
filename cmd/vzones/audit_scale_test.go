package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
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

// The scale of a large cluster.
const (
	scaleVCenters, scaleNodes, scalePods = 10, 500, 50_000
	scaleTime                            = 10 * time.Second
	scaleRequests                        = 40
)

// TestAuditScale audits 5,000 Nodes on 10 vCenters, with 50,000 Pods and 5,000 CSINodes. The Nodes of one
// vCenter are stale, and so are the Pods on them. Making all that takes minutes, so that it runs only
// if the variable says so.
func TestAuditScale(t *testing.T) {
	if os.Getenv("VZONES_LARGE") == "" {
		t.Skip("VZONES_LARGE is not set")
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
	before := make([]int, scaleVCenters)
	for i, v := range s.Fleet.VCenters() {
		before[i] = v.Total()
	}
	t.Setenv("KUBECONFIG", s.Cluster.AdminKubeconfig())
	var stdout, stderr bytes.Buffer
	began := time.Now()
	status := run([]string{"audit", "-c", config}, nil, &stdout, &stderr)
	took := time.Since(began)
	t.Logf("%v\n%s%s", took, &stdout, &stderr)
	if want := "5,000 Nodes, 5,000 CSINodes, 0 PersistentVolumes, 0 StorageClasses, 50,000 Pods, 0 EndpointSlices: 5,500 findings"; !strings.Contains(stdout.String(), want) {
		t.Errorf("it does not say %q", want)
	}
	if status != findings || took > scaleTime {
		t.Errorf("exit status %d after %v", status, took)
	}
	for i, v := range s.Fleet.VCenters() {
		if n := v.Total() - before[i]; n > scaleRequests {
			t.Errorf("vCenter %s had %d requests", v.Name(), n)
		}
	}
}

func scaleFleet() string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for i := range scaleVCenters {
		fmt.Fprintf(&b, "- name: v%d\n  datacenters:\n  - name: dc1\n    tags: {region: r%[1]d}\n    clusters: [{name: c1, hosts: 20, tags: {zone: z%[1]d}}]\n    vms: [{name: n%[1]d, count: %d}]\n", i, scaleNodes)
	}
	return b.String()
}

// populate makes Nodes that are initialized, and Pods on them.
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
	var machines []fleet.Machine
	var zones, labels []string
	for i, v := range s.Fleet.VCenters() {
		for _, m := range v.Machines() {
			machines, zones = append(machines, m), append(zones, fmt.Sprint(i))
			labels = append(labels, "z"+fmt.Sprint(max(i, 1))) // those of the first say the second's
		}
	}
	make32(len(machines), func(i int) error {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: machines[i].Name, Labels: map[string]string{
			v1.LabelTopologyRegion: "r" + zones[i], v1.LabelFailureDomainBetaRegion: "r" + zones[i],
			v1.LabelTopologyZone: labels[i], v1.LabelFailureDomainBetaZone: labels[i],
			"topology.csi.vmware.com/region": "r" + zones[i], "topology.csi.vmware.com/zone": "z" + zones[i],
		}}}
		n.Spec.ProviderID = machines[i].ProviderID()
		n.Status.NodeInfo.SystemUUID = machines[i].UUID
		if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return err
		}
		csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		csi.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "csi.vsphere.vmware.com", NodeID: n.Name, TopologyKeys: []string{"topology.csi.vmware.com/region", "topology.csi.vmware.com/zone"}}}
		_, err := client.StorageV1().CSINodes().Create(ctx, csi, metav1.CreateOptions{})
		return err
	})
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Log(err)
	}
	make32(scalePods, func(i int) error {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Labels: map[string]string{"app": fmt.Sprint(i % 500)}}}
		p.Spec.NodeName = machines[i%len(machines)].Name
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 100, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}
		p.Spec.Containers = []v1.Container{{Name: "c", Image: "none.example.com/none"}}
		_, err := client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}
