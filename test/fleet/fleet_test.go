package fleet

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const twoVCenters = `
vcenters:
- name: east
  tags: {region: east}
  folders:
  - {path: prod, tags: {tier: gold}}
  datacenters:
  - name: dc1
    folder: prod/site-a
    tags: {zone: a}
    hostFolders: [{path: racks/1, tags: {rack: "1"}}]
    vmFolders: [{path: a/b, tags: {team: [blue, green]}}]
    hosts: [{name: lone, tags: {zone: lonely}}]
    clusters:
    - name: c1
      folder: racks/1
      tags: {zone: b}
      hosts: 2
      pools: [{name: p, tags: {zone: pool}, pools: [{name: q}]}]
    - name: c2
      hosts: [{name: far, tags: {zone: far}}]
    vms:
    - {name: node-1, pool: q, folder: a/b, nics: [{ips: ["10.9.0.1", "fd00::1"]}, {network: cni, deviceConfigId: -1, ips: ["172.17.0.1"]}]}
    - {name: node-2, host: lone, uuid: 422E4956-AD22-1139-6D59-68CC8F26BC90, cpus: 2, memoryMB: 4096, guestID: rhel9_64Guest}
    - {name: silent, hostname: "", power: off}
    - {name: golden, template: true}
    - {name: worker, count: 5, cluster: c1}
- name: west
  tags: {region: west}
  datacenters:
  - name: dc1
    folder: prod/site-a
    clusters:
    - {name: c1, hosts: 2}
    vms:
    - {name: worker, count: 5}
  fillers: 10
`

// start runs the vCenters of a description until the test ends, and checks
// that nothing of them is left then.
func start(t *testing.T, description string) *Fleet {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	spec, err := Parse([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func deadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// connect makes a SOAP client that trusts the vCenter's certificate only.
func connect(t *testing.T, ctx context.Context, v *VCenter) (*govmomi.Client, error) {
	t.Helper()
	sc := soap.NewClient(v.URL(), false)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(v.Certificate()) {
		t.Fatal("no certificate")
	}
	sc.DefaultTransport().TLSClientConfig.RootCAs = roots
	t.Cleanup(sc.CloseIdleConnections)
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	return &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}, nil
}

func login(t *testing.T, v *VCenter) *govmomi.Client {
	t.Helper()
	ctx := deadline(t, 10*time.Second)
	c, err := connect(t, ctx, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login(ctx, v.URL().User); err != nil {
		t.Fatal(err)
	}
	return c
}

func loginREST(t *testing.T, v *VCenter, c *govmomi.Client) *rest.Client {
	t.Helper()
	rc := rest.NewClient(c.Client)
	t.Cleanup(rc.CloseIdleConnections)
	if err := rc.Login(deadline(t, 10*time.Second), v.URL().User); err != nil {
		t.Fatal(err)
	}
	return rc
}

func TestStart(t *testing.T) {
	f := start(t, twoVCenters)
	if got := len(f.VCenters()); got != 2 {
		t.Fatalf("%d vCenters", got)
	}
	east, west := f.VCenter("east"), f.VCenter("west")
	if f.VCenters()[0] != east || f.VCenters()[1] != west || f.VCenter("north") != nil {
		t.Error("vCenters are not in order")
	}
	if east.InstanceUUID() == west.InstanceUUID() {
		t.Error("two vCenters have one instance UUID")
	}
	uuids := make(map[string]string)
	for _, m := range f.Machines() {
		if other, ok := uuids[m.UUID]; ok {
			t.Errorf("%s/%s has the UUID of %s", m.VCenter, m.Name, other)
		}
		uuids[m.UUID] = m.VCenter + "/" + m.Name
	}
	c := login(t, east)
	if got := c.ServiceContent.About.InstanceUuid; got != east.InstanceUUID() {
		t.Errorf("service content says %s", got)
	}
	f.Close()
	f.Close()
	if err := east.Recover(); err == nil {
		t.Error("a closed vCenter recovered")
	}
}

func TestEqualShapesGiveEqualIDs(t *testing.T) {
	const shape = `
  datacenters:
  - name: dc
    clusters: [{name: c, hosts: 3}]
    vms: [{name: node, count: 20}]
`
	f := start(t, "vcenters:\n- name: a"+shape+"- name: b"+shape)
	a, b := f.VCenter("a").Machines(), f.VCenter("b").Machines()
	for i := range a {
		if a[i].MoID != b[i].MoID || a[i].UUID == b[i].UUID || a[i].IPs[0] == b[i].IPs[0] {
			t.Errorf("%+v and %+v", a[i], b[i])
		}
	}
}

func TestCertificates(t *testing.T) {
	f := start(t, twoVCenters)
	ctx := deadline(t, 10*time.Second)
	east, west := f.VCenter("east"), f.VCenter("west")
	login(t, east)
	login(t, west)
	sc := soap.NewClient(west.URL(), false)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(east.Certificate())
	sc.DefaultTransport().TLSClientConfig.RootCAs = roots
	t.Cleanup(sc.CloseIdleConnections)
	if _, err := vim25.NewClient(ctx, sc); !soap.IsCertificateUntrusted(err) {
		t.Errorf("west, trusting east's certificate: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	f := start(t, `
vcenters:
- {name: a, address: 127.0.0.2, user: root, password: "p:@/\"' ü"}
- {name: b, address: 127.0.0.3}
`)
	a, b := f.VCenter("a"), f.VCenter("b")
	if a.Host() != "127.0.0.2" || b.Host() != "127.0.0.3" || a.User() != "root" {
		t.Errorf("%s and %s", a.URL(), b.URL())
	}
	login(t, a)
	login(t, b)
	if a.Sessions() != 1 || f.Requests() != a.Total()+b.Total() {
		t.Errorf("%d sessions, %d requests", a.Sessions(), f.Requests())
	}
}

func TestStartFails(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec, err := Parse([]byte(twoVCenters))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// A folder in the place of a datacenter passes Parse.
	spec, err = Parse([]byte("vcenters: [{name: ok}, {name: a, datacenters: [{name: d}, {name: e, folder: d}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), `vCenter "a": datacenter "e": folder "d"`) {
		t.Errorf("%v", err)
	}
}
