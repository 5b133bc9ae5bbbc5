package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/mo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const oneVCenter = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    clusters: [{name: c1, hosts: 2}, {name: c2, hosts: 1}]
    vms: [{name: node, nics: [{ips: [10.0.0.1]}, {ips: [10.0.0.2]}]}, {name: second}]
  - {name: dc2, clusters: [{name: c3, hosts: 1}], vms: [{name: other}]}
`

// A client is logged in to one vCenter over SOAP and REST.
type client struct {
	*govmomi.Client
	rest *rest.Client
}

// start runs oneVCenter until the test ends and logs in.
func start(t *testing.T) (*VCenter, *client) {
	t.Helper()
	spec, err := Parse([]byte(oneVCenter))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f.VCenters()[0], login(t, f.VCenters()[0])
}

func login(t *testing.T, v *VCenter) *client {
	t.Helper()
	ctx := within(t, time.Minute)
	c, err := govmomi.NewClient(ctx, v.URL(), true)
	if err != nil {
		t.Fatal(err)
	}
	rc := rest.NewClient(c.Client)
	t.Cleanup(c.CloseIdleConnections)
	t.Cleanup(rc.CloseIdleConnections)
	if err := rc.Login(ctx, v.URL().User); err != nil {
		t.Fatal(err)
	}
	return &client{c, rc}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// read reads properties of a VM.
func (c *client) read(ctx context.Context, m VM, properties ...string) (vm mo.VirtualMachine, err error) {
	err = property.DefaultCollector(c.Client.Client).RetrieveOne(ctx, m.Reference(), properties, &vm)
	return vm, err
}

// TestEqualDescriptions: managed object IDs repeat between vCenters; all other identifiers differ.
func TestEqualDescriptions(t *testing.T) {
	const shape = "{name: dc, clusters: [{name: c, hosts: 3}], vms: [{name: node, count: 20}]}"
	spec, err := Parse([]byte("vcenters: [{name: a, datacenters: [" + shape + "]}, {name: b, datacenters: [" + shape + "]}]"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := f.VCenter("a")
	b := f.VCenter("b")
	if a.InstanceUUID() == b.InstanceUUID() {
		t.Error("two vCenters have one instance UUID")
	}
	uuids := make(map[string]bool)
	for i, m := range a.VMs() {
		other := b.VMs()[i]
		if m.MoID != other.MoID || m.IPs[0] == other.IPs[0] {
			t.Errorf("%+v and %+v", m, other)
		}
		uuids[m.UUID] = true
		uuids[other.UUID] = true
	}
	if len(uuids) != 40 {
		t.Errorf("40 VMs have %d UUIDs", len(uuids))
	}
}

// TestNoPlace: a VM on a nonexistent host is an error.
func TestNoPlace(t *testing.T) {
	spec, err := Parse([]byte("vcenters: [{name: a, datacenters: [{name: d, hosts: 1, vms: [{name: v, host: x}]}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), `vCenter "a": VM "v": datacenter "d" has no place with cluster "", host "x"`) {
		t.Errorf("error %v, want one that names the VM and the host", err)
	}
}
