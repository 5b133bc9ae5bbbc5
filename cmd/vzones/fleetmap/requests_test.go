package fleetmap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/fleetmap"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/test/fleet"
)

// largeFleet describes vCenters of three zones with 12 clusters, 12 hosts in each, and machines.
func largeFleet(vcenters, machines int) *fleet.Spec {
	spec := &fleet.Spec{}
	for v := range vcenters {
		dc := fleet.DatacenterSpec{Name: "dc1", Tags: fleet.Tags{"region": {fmt.Sprintf("region-%d", v)}}}
		for c := range 12 {
			name := fmt.Sprintf("c%02d", c)
			dc.Clusters = append(dc.Clusters, fleet.ClusterSpec{Name: name, Hosts: make(fleet.Hosts, 12), Tags: fleet.Tags{"zone": {fmt.Sprintf("zone-%d-%d", v, c%3)}}})
			dc.VMs = append(dc.VMs, fleet.VMSpec{Name: fmt.Sprintf("node-%d-%s-", v, name), Cluster: name, Count: machines / 12})
		}
		spec.VCenters = append(spec.VCenters, fleet.VCenterSpec{Name: fmt.Sprintf("vc%d", v), Datacenters: []fleet.DatacenterSpec{dc}})
	}
	return spec
}

// nodes serves Nodes of the machines as the API server lists them, a page at a time.
func nodes(t *testing.T, all []fleet.Machine) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes" {
			http.NotFound(w, r)
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		list := v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		for i := from; i < len(all) && (limit == 0 || i < from+limit); i++ {
			n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: all[i].Name, UID: types.UID(all[i].UUID)}}
			n.Spec.ProviderID = all[i].ProviderID()
			n.Status.NodeInfo.SystemUUID = all[i].UUID
			list.Items = append(list.Items, n)
		}
		if from+limit < len(all) && limit > 0 {
			list.Continue = strconv.Itoa(from + limit)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&list)
	}))
	t.Cleanup(server.Close)
	return server
}

// worst returns what is an error in a map in JSON, in a few lines.
func worst(data []byte) string {
	var m model.Map
	if err := json.Unmarshal(data, &m); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%+v", m.Kinds)
	for _, v := range m.VCenters {
		text += fmt.Sprintf("\nvCenter %s: %+v", v.Name, v.Marks)
	}
	for _, n := range m.Unplaced[:min(len(m.Unplaced), 3)] {
		text += fmt.Sprintf("\nNode %s: %+v", n.Name, n.Marks)
	}
	return text
}

// budget is how many requests the command may send to each vCenter, but for the pages of what it reports.
const budget = 40

// TestRequests: a fleet is read and drawn with few requests.
func TestRequests(t *testing.T) {
	const vcenters, machines = 2, 120
	f, err := fleet.Start(t.Context(), largeFleet(vcenters, machines))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	dir := t.TempDir()
	config, err := fleet.ConfigYAML(f, fleet.ConfigOptions{CADir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var all []fleet.Machine
	for _, v := range f.VCenters() {
		all = append(all, v.Machines()...)
	}
	server := nodes(t, all)
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"+
		"clusters: [{name: a, cluster: {server: %q}}]\nusers: [{name: a}]\n", server.URL)
	files := map[string]string{"vsphere.yaml": string(config), "kubeconfig": kubeconfig}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	klog.SetLogger(logr.Discard()) // as main does
	t.Cleanup(klog.ClearLogger)
	for _, format := range []string{"json", "html", "tree"} {
		for _, v := range f.VCenters() {
			v.ResetRequests()
		}
		var out bytes.Buffer
		cmd := fleetmap.Command(&cli.Tool{Stdout: &out, Stderr: t.Output()})
		cmd.SetArgs([]string{"-c", filepath.Join(dir, "vsphere.yaml"), "--kubeconfig", filepath.Join(dir, "kubeconfig"), "-o", format, "--timeout", "5m"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %s", err, worst(out.Bytes()))
		}
		for _, v := range f.VCenters() {
			pages := v.Requests()["WaitForUpdatesEx"]
			if n := v.Total() - max(pages-1, 0); n > budget || pages == 0 {
				t.Errorf("%s: vCenter %s had %d requests: %v", format, v.Name(), n, v.Requests())
			}
		}
		if format != "json" {
			continue
		}
		var m model.Map
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if c := m.Counts; c.Nodes != vcenters*machines || c.Hosts != vcenters*144 || c.Zones != vcenters*3 || len(m.Unplaced) > 0 {
			t.Errorf("the map has %+v, and %d Nodes without a place", c, len(m.Unplaced))
		}
	}
}
