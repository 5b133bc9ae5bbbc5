package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"gopkg.in/yaml.v3"
)

func TestMachines(t *testing.T) {
	f := start(t, twoVCenters)
	east := f.VCenter("east")
	var got []string
	for _, m := range east.Machines() {
		got = append(got, fmt.Sprintf("%s on=%v tmpl=%v %s/%s/%s %s %s %q", m.Name, m.PoweredOn, m.Template, m.Cluster, m.Host, m.Pool, m.Path, m.HostName, m.IPs))
	}
	want := []string{
		`node-1 on=true tmpl=false c1/c1-host-1/q /prod/site-a/dc1/vm/a/b/node-1 node-1 ["10.9.0.1" "fd00::1" "172.17.0.1"]`,
		`node-2 on=true tmpl=false /lone/Resources /prod/site-a/dc1/vm/node-2 node-2 ["10.0.0.2"]`,
		`silent on=false tmpl=false c1/c1-host-1/Resources /prod/site-a/dc1/vm/silent  []`,
		`golden on=false tmpl=true c1/c1-host-1/Resources /prod/site-a/dc1/vm/golden golden []`,
		`worker-0000 on=true tmpl=false c1/c1-host-1/Resources /prod/site-a/dc1/vm/worker-0000 worker-0000 ["10.0.0.5"]`,
		`worker-0001 on=true tmpl=false c1/c1-host-2/Resources /prod/site-a/dc1/vm/worker-0001 worker-0001 ["10.0.0.6"]`,
		`worker-0002 on=true tmpl=false c1/c1-host-1/Resources /prod/site-a/dc1/vm/worker-0002 worker-0002 ["10.0.0.7"]`,
		`worker-0003 on=true tmpl=false c1/c1-host-2/Resources /prod/site-a/dc1/vm/worker-0003 worker-0003 ["10.0.0.8"]`,
		`worker-0004 on=true tmpl=false c1/c1-host-1/Resources /prod/site-a/dc1/vm/worker-0004 worker-0004 ["10.0.0.9"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m, err := f.Machine("node-2")
	if err != nil || m.ProviderID() != "vsphere://422e4956-ad22-1139-6d59-68cc8f26bc90" || m.SwappedUUID() != "56492e42-22ad-3911-6d59-68cc8f26bc90" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := f.Machine("worker-0000"); err == nil {
		t.Error("a name of two machines gave one")
	}
}

func TestProperties(t *testing.T) {
	f := start(t, twoVCenters)
	east := f.VCenter("east")
	ctx := deadline(t, 10*time.Second)
	c := login(t, east)
	m, _ := f.Machine("node-2")
	refs, err := object.NewSearchIndex(c.Client).FindAllByUuid(ctx, nil, m.UUID, true, nil)
	if err != nil || len(refs) != 1 || refs[0].Reference() != m.Reference() {
		t.Fatalf("found %v, %v", refs, err)
	}
	if refs, err := object.NewSearchIndex(c.Client).FindAllByDnsName(ctx, nil, "silent", true); err != nil || len(refs) != 0 {
		t.Errorf("a machine without Tools has a DNS name: %v, %v", refs, err)
	}
	var vm mo.VirtualMachine
	props := []string{"name", "config.uuid", "config.template", "config.hardware.numCPU", "config.hardware.memoryMB", "config.guestFullName", "guest.net", "runtime.host", "summary.runtime.host", "resourcePool", "parent"}
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, m.Reference(), props, &vm); err != nil {
		t.Fatal(err)
	}
	if vm.Config.Uuid != m.UUID || vm.Config.Hardware.NumCPU != 2 || vm.Config.Hardware.MemoryMB != 4096 ||
		vm.Config.GuestFullName != "Red Hat Enterprise Linux 9 (64-bit)" || vm.Guest.Net[0].DeviceConfigId != 4000 ||
		vm.Guest.Net[0].IpConfig.IpAddress[0].IpAddress != "10.0.0.2" || vm.ResourcePool == nil || *vm.Runtime.Host != *vm.Summary.Runtime.Host {
		t.Errorf("%+v", vm)
	}
	var names []string
	ancestors, err := mo.Ancestors(ctx, c.Client, c.ServiceContent.PropertyCollector, *vm.Runtime.Host)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range ancestors {
		names = append(names, a.Self.Type+" "+a.Name)
	}
	want := []string{"Folder Datacenters", "Folder prod", "Folder site-a", "Datacenter dc1", "Folder host", "ComputeResource lone", "HostSystem lone"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// attached returns the names of the tags on an object, as a client sees them.
func attached(t *testing.T, ctx context.Context, rc *rest.Client, ref types.ManagedObjectReference) []string {
	t.Helper()
	all, err := tags.NewManager(rc).GetAttachedTagsOnObjects(ctx, []mo.Reference{ref})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		for _, tag := range a.Tags {
			names = append(names, tag.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTags(t *testing.T) {
	f := start(t, twoVCenters)
	east := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	rc := loginREST(t, east, login(t, east))
	check := func(object string, want ...string) {
		t.Helper()
		ref, err := east.Reference(object)
		if err != nil {
			t.Fatal(err)
		}
		if got := attached(t, ctx, rc, ref); !slices.Equal(got, want) {
			t.Errorf("%s has the tags %q, want %q", object, got, want)
		}
	}
	check("/", "east")
	check("/prod", "gold")
	check("/prod/site-a")
	check("/prod/site-a/dc1", "a")
	check("/prod/site-a/dc1/host/racks/1", "1")
	check("c1", "b")
	check("c1-host-1")
	check("/prod/site-a/dc1/host/lone/lone", "lonely")
	check("/prod/site-a/dc1/host/racks/1/c1/Resources/p", "pool")
	check("b", "blue", "green")

	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(east.Retag("c1", "zone", "c"))
	check("c1", "c")
	change(east.Tag("c1", "zone", "d"))
	check("c1", "c", "d")
	change(east.Untag("c1", "zone", "c"))
	check("c1", "d")
	change(east.Tag("node-1", "new category", "x"))
	check("node-1", "x")
	change(east.Retag("b", "team", ""))
	check("b")
	if err := east.Tag("nowhere", "zone", "a"); err == nil {
		t.Error("an object that does not exist was tagged")
	}
	if err := east.Retag("1", "rack", "2"); err != nil {
		t.Error(err)
	}
}

func TestFillers(t *testing.T) {
	began := time.Now()
	f := start(t, `
vcenters:
- name: big
  datacenters:
  - name: dc
    clusters: [{name: c, hosts: 20}]
    vms: [{name: node, count: 200}]
  fillers: 2000
`)
	t.Logf("200 machines and 2,000 fillers made within %v", time.Since(began))
	v := f.VCenter("big")
	ctx := deadline(t, 30*time.Second)
	c := login(t, v)
	cv, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"config.uuid", "runtime.host"}, &vms); err != nil {
		t.Fatal(err)
	}
	uuids := make(map[string]bool)
	for _, vm := range vms {
		uuids[vm.Config.Uuid] = true
	}
	if len(vms) != 2200 || len(uuids) != 2200 {
		t.Errorf("%d machines with %d UUIDs", len(vms), len(uuids))
	}
	if got := len(f.Machines()); got != 200 {
		t.Errorf("%d machines besides the fillers", got)
	}
}

func TestConfigYAML(t *testing.T) {
	f := start(t, twoVCenters)
	dir := t.TempDir()
	out, err := ConfigYAML(f, ConfigOptions{CADir: dir, Datacenters: true})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Global  map[string]any
		VCenter map[string]struct {
			Server, User, Password string
			Port                   int
			CAFile                 string `yaml:"caFile"`
			Datacenters            []string
		}
		Labels map[string]string
	}
	if err := yaml.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	east := got.VCenter["east"]
	if east.Server != "127.0.0.1" || east.Port != f.VCenter("east").Port() || east.Password != "pw-east" ||
		east.CAFile != filepath.Join(dir, "east.pem") || !slices.Equal(east.Datacenters, []string{"prod/site-a/dc1"}) ||
		got.Labels["zone"] != "zone" || got.Global["insecureFlag"] != false {
		t.Errorf("%s", out)
	}
	if i, j := strings.Index(string(out), "east:"), strings.Index(string(out), "west:"); i < 0 || j < i {
		t.Errorf("not in order:\n%s", out)
	}
	if _, err := os.Stat(east.CAFile); err != nil {
		t.Error(err)
	}
	out, err = ConfigYAML(f, ConfigOptions{NoCredentials: true, Zone: "k8s-zone"})
	if err != nil || strings.Contains(string(out), "pw-") || !strings.Contains(string(out), "insecureFlag: true") || !strings.Contains(string(out), "zone: k8s-zone") {
		t.Errorf("%v\n%s", err, out)
	}
}
