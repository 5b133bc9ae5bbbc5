package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/cmd/vzones/recording"
	"vzones/cmd/vzones/world"
	"vzones/config/load"
	"vzones/test/fixture"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
)

// start starts vCenters, and returns flags for a cluster with one Node per VM. The sections of the
// configuration replace those of the default.
func start(t *testing.T, description string, sections map[string]any) (*fleet.Fleet, *world.Flags) {
	t.Helper()
	f := fleettest.Start(t, description)
	nodes := []v1.Node{}
	for i, vm := range f.VMs() {
		n := v1.Node{}
		// The age decides between Nodes, and the name only between Nodes of the same age.
		n.CreationTimestamp = metav1.Unix(int64(1_700_000_000+i), 0)
		n.Name = vm.Name
		n.UID = types.UID(vm.Name)
		n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		n.Status.NodeInfo.SystemUUID = vm.UUID
		nodes = append(nodes, n)
	}
	file := fleettest.WriteConfig(t, f, t.TempDir())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	for name, section := range sections {
		config[name] = section
	}
	if data, err = yaml.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (load.Options{}).Parse(file, data); err != nil {
		t.Skip("the scenario is about an invalid configuration: ", err)
	}
	return f, &world.Flags{Config: file, Kubeconfig: fixture.ServeNodes(t, nodes), Timeout: time.Minute}
}

// write records to a file, and returns its path and its files.
func write(t *testing.T, flags *world.Flags, n *names) (path string, files []file) {
	t.Helper()
	r, err := record(t.Context(), flags, n)
	if err != nil {
		t.Fatal(err)
	}
	data, err := archive(r.files)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "recording.tar.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, r.files
}

// place is the result for a Node: its labels and addresses, or the reason that it has none.
type place struct {
	Reason, InstanceType string
	Labels, Addresses    map[string]string
}

// named returns the places with replaced names.
func named(places map[string]place, n *names) map[string]place {
	all := map[string]place{}
	for name, p := range places {
		q := place{Reason: p.Reason, InstanceType: p.InstanceType, Labels: map[string]string{}, Addresses: map[string]string{}}
		for key, value := range p.Labels {
			q.Labels[n.labelKey(key)] = n.text(value)
		}
		for kind, address := range p.Addresses {
			q.Addresses[kind] = n.text(address)
		}
		all[n.text(name)] = q
	}
	return all
}

func placesOf(t *testing.T, flags *world.Flags) map[string]place {
	t.Helper()
	w, err := world.Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	places := map[string]place{}
	for _, node := range w.Nodes {
		look := w.Look(node)
		p := place{Reason: look.Reason(), Labels: map[string]string{}, Addresses: map[string]string{}}
		for _, d := range look.Place.Placement.Decisions {
			p.Labels[d.Label] = d.Value
		}
		if m := look.Place.Metadata; m != nil {
			p.InstanceType = m.InstanceType
			for i, a := range m.NodeAddresses {
				p.Addresses[fmt.Sprint(i, " ", a.Type)] = a.Address
			}
		}
		places[node.Name] = p
	}
	return places
}

// withoutTimes returns the content of the files by name, except of the file that describes the recording.
func withoutTimes(files []file) map[string]string {
	contents := map[string]string{}
	for _, f := range files {
		if f.name != recording.AboutFile {
			contents[f.name] = string(f.data)
		}
	}
	return contents
}

// shortScenarios is the share of the scenarios that run with -short.
const shortScenarios = 24

// The replayed fleet of each scenario leads to the same places, and its recording is the same again.
func TestReplay(t *testing.T) {
	scenarios, err := filepath.Glob("../../../test/scenarios/*.txtar")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("%d scenarios, %v", len(scenarios), err)
	}
	tested := map[string]bool{}
	for i, path := range scenarios {
		if testing.Short() && i%shortScenarios != 0 {
			continue
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var description, config []byte
		for _, section := range archive.Files {
			switch section.Name {
			case "fleet.yaml":
				description = section.Data
			case "config.yaml":
				config = section.Data
			}
		}
		key := string(description) + "\x00" + string(config)
		if tested[key] {
			continue
		}
		tested[key] = true
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			sections := map[string]any{}
			if err := yaml.Unmarshal(config, &sections); err != nil {
				t.Fatal(err)
			}
			// The fleet has credentials of its own.
			delete(sections, "global")
			delete(sections, "vcenter")
			_, flags := start(t, string(description), sections)
			places := placesOf(t, flags)
			for _, n := range []*names{nil, newNames([32]byte{1})} {
				path, files := write(t, flags, n)
				replayed := &world.Flags{Recording: path, Timeout: time.Minute}
				if diff := cmp.Diff(named(places, n), placesOf(t, replayed)); diff != "" {
					t.Errorf("places with names replaced: %t (-fleet +recording):\n%s", n != nil, diff)
				}
				if n == nil {
					continue
				}
				_, again := write(t, replayed, nil)
				if diff := cmp.Diff(withoutTimes(files), withoutTimes(again)); diff != "" {
					t.Errorf("recording of the replayed recording (-first +second):\n%s", diff)
				}
			}
		})
	}
}

const two = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, hosts: 1, tags: {zone: a}}]
    vms: [{name: node-1, cluster: c1}]
- name: west
  datacenters: [{name: dc1, hosts: [h1], vms: [{name: node-2}]}]
`

// A vCenter that rejects the login is recorded with the error, and is unreachable in a replay.
func TestVCenterThatCannotBeRead(t *testing.T) {
	f, flags := start(t, two, nil)
	f.VCenter("west").RejectPassword()
	path, files := write(t, flags, nil)
	places := placesOf(t, &world.Flags{Recording: path, Timeout: time.Minute})
	if zone := places["node-1"].Labels["topology.kubernetes.io/zone"]; zone != "a" || places["node-2"].Reason != "VCenterUnreachable" {
		t.Errorf("places: %+v, want zone a for node-1 and VCenterUnreachable for node-2", places)
	}
	if about := string(files[len(files)-1].data); !strings.Contains(about, "logging in") {
		t.Errorf("the error is missing in\n%s", about)
	}
}

// The status of an error of the tagging API is recorded, its text only with replaced words.
func TestTagErrorsAreRecorded(t *testing.T) {
	f, flags := start(t, two, nil)
	f.VCenter("east").ThrottleTagging()
	_, files := write(t, flags, newNames([32]byte{6}))
	if about := string(files[len(files)-1].data); !strings.Contains(about, "reading the tags: HTTP status ") || strings.Contains(about, "tagging") {
		t.Errorf("the recording describes the errors so:\n%s", about)
	}
}

// A manipulated recording leads to no other server and reads no files of the host.
func TestManipulatedRecording(t *testing.T) {
	_, flags := start(t, two, nil)
	r, err := record(t.Context(), flags, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(change func(f *file)) (*world.World, error) {
		changed := slices.Clone(r.files)
		for i := range changed {
			change(&changed[i])
		}
		data, err := archive(changed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "recording.tar.gz")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return world.Open(t.Context(), &world.Flags{Recording: path, Timeout: time.Minute})
	}
	w, err := open(func(f *file) {
		if f.name == recording.ConfigFile {
			f.data = []byte("global: {secretsDirectory: /etc}\nvcenter:\n  east: {server: evil.example.com, caFile: /etc/passwd}\n  evil.example.com: {}\nlabels: {zone: zone}\n")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range w.Config.VCenters {
		if v := &w.Config.VCenters[i]; v.Server != "127.0.0.1" || v.CAFile != "" || v.SecretsDirectory != "" {
			t.Errorf("vCenter %s has server %s, CA file %q and directory %q, want a simulated vCenter", v.Name, v.Server, v.CAFile, v.SecretsDirectory)
		}
	}
	for name, change := range map[string]func(f *file){
		"a path outside": func(f *file) { f.name = "../" + f.name },
		"an unexpected type": func(f *file) {
			f.data = bytes.ReplaceAll(f.data, []byte("<name>parent</name>"), []byte("<name>name</name>"))
		},
		"an unexpected value": func(f *file) { f.data = bytes.ReplaceAll(f.data, []byte("</obj>"), []byte("<")) },
	} {
		if w, err := open(change); err == nil {
			w.Close()
			t.Errorf("a recording with %s is accepted", name)
		}
	}
}

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	m.Run()
}
