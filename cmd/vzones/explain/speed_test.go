package explain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/explain"
	"vzones/test/fleet"
)

const (
	vcenters, nodesEach = 10, 500
	// mostRequests is what each vCenter may be asked, whatever the number of Nodes.
	mostRequests = 40
)

// TestExplainOfManyNodes: one Node of 5,000 on 10 vCenters is explained with few requests. make bench-tool says how soon.
func TestExplainOfManyNodes(t *testing.T) {
	f := manyVCenters(t)
	t.Setenv("KUBECONFIG", kubeconfig(t, serveNodes(t, nodesOf(f))))
	config := configuration(t, f)
	for _, v := range f.VCenters() {
		v.ResetRequests()
	}
	var out, errs bytes.Buffer
	tool := &cli.Tool{Stdout: &out, Stderr: &errs}
	cmd := explain.Command(tool)
	cmd.SetArgs([]string{"v7-node-0123", "-c", config})
	start := time.Now()
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	t.Logf("It took %v.", time.Since(start))
	if !strings.Contains(out.String(), "/dc/vm/v7-node-0123") || !strings.Contains(out.String(), "Nothing is wrong with the Node") {
		t.Errorf("it printed\n%s", out.String())
	}
	for _, v := range f.VCenters() {
		n := v.Total() - max(v.Requests()["WaitForUpdatesEx"]-1, 0) // how many pages there are depends on the machine's speed
		if n > mostRequests || n == 0 {
			t.Errorf("vCenter %s had %d requests: %v", v.Name(), n, v.Requests())
		}
	}
}

func manyVCenters(t *testing.T) *fleet.Fleet {
	t.Helper()
	description := "vcenters:\n"
	for i := range vcenters {
		description += fmt.Sprintf(`- name: v%d
  datacenters:
  - name: dc
    tags: {region: r%d}
    clusters:
    - {name: c, hosts: 20, tags: {zone: z%d}}
    vms:
    - {name: v%d-node, count: %d, cluster: c}
`, i, i, i, i, nodesEach)
	}
	return startFleet(t, description)
}

// nodesOf returns an initialized Node for each machine.
func nodesOf(f *fleet.Fleet) []v1.Node {
	var all []v1.Node
	for _, m := range f.Machines() {
		i := m.Name[1:2]
		n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: types.UID("uid-" + m.Name), Labels: map[string]string{
			v1.LabelTopologyRegion: "r" + i, v1.LabelTopologyZone: "z" + i,
			v1.LabelFailureDomainBetaRegion: "r" + i, v1.LabelFailureDomainBetaZone: "z" + i,
			v1.LabelInstanceTypeStable: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu", v1.LabelInstanceType: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu",
		}}}
		n.Spec.ProviderID = "vsphere://" + m.UUID
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		all = append(all, n)
	}
	return all
}

// serveNodes serves Nodes as the API server does, page by page.
func serveNodes(t *testing.T, nodes []v1.Node) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		list := v1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
		to := min(from+limit, len(nodes))
		if list.Items = nodes[from:to]; to < len(nodes) {
			list.Continue = strconv.Itoa(to)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&list)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func configuration(t *testing.T, f *fleet.Fleet) string {
	t.Helper()
	dir := t.TempDir()
	text, err := fleet.ConfigYAML(f, fleet.ConfigOptions{CADir: dir})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "vsphere.yaml")
	if !bytes.Contains(text, []byte("labels:")) {
		text = append(text, "labels:\n  region: region\n  zone: zone\n"...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
