package record

import (
	"fmt"
	"os"
	"path/filepath"
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

// write records to a file.
func write(t *testing.T, flags *world.Flags, n *names) string {
	t.Helper()
	_, files, err := record(t.Context(), flags, n)
	if err != nil {
		t.Fatal(err)
	}
	data, err := archive(files)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "recording.tar.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// placesOf returns the result for each Node: its labels, or the reason that it has none.
func placesOf(t *testing.T, flags *world.Flags, n *names) map[string]string {
	t.Helper()
	w, err := world.Open(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	places := map[string]string{}
	for _, node := range w.Nodes {
		look := w.Look(node)
		text := look.Reason()
		for _, d := range look.Place.Placement.Decisions {
			text += fmt.Sprintf(" %s=%s", n.labelKey(d.Label), n.text(d.Value))
		}
		if m := look.Place.Metadata; m != nil {
			text += " " + m.InstanceType
			for _, a := range m.NodeAddresses {
				text += fmt.Sprintf(" %s=%s", a.Type, n.text(a.Address))
			}
		}
		places[n.text(node.Name)] = text
	}
	return places
}

// shortScenarios is the share of the scenarios that run with -short.
const shortScenarios = 12

// The replayed fleet of each scenario leads to the same places.
func TestReplayedPlaces(t *testing.T) {
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
			for _, n := range []*names{nil, newNames([32]byte{1})} {
				recording := write(t, flags, n)
				want := placesOf(t, flags, n)
				got := placesOf(t, &world.Flags{Recording: recording, Timeout: time.Minute}, nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("places of the recording (-of the fleet +of the recording), names replaced: %t:\n%s", n != nil, diff)
				}
			}
		})
	}
}

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	m.Run()
}
