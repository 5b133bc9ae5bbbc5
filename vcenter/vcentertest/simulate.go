package vcentertest

import (
	"net/url"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
)

// Simulate starts the vCenters of a description and returns their configurations.
func Simulate(t *testing.T, description string) (*fleet.Fleet, []config.VCenter) {
	t.Helper()
	sim := fleettest.Start(t, description)
	var cfgs []config.VCenter
	for _, v := range sim.VCenters() {
		cfgs = append(cfgs, config.VCenter{
			Name: v.Name(), Server: v.Host(), Port: v.Port(), RoundTrips: 3, CA: v.Certificate(),
			User: v.User(), Password: config.NewPassword(v.Password()), IPFamilies: []string{"ipv4"},
		})
	}
	return sim, cfgs
}

// EastBehindFront simulates the vCenter of BareEast behind a front.
func EastBehindFront(t *testing.T) (*fleet.Fleet, *Front, config.VCenter) {
	t.Helper()
	sim, cfgs := Simulate(t, BareEast)
	f := NewFront(t, sim.VCenters()[0])
	cfg := f.VCenter(t)
	cfg.User = cfgs[0].User
	cfg.Password = cfgs[0].Password
	return sim, f, cfg
}

// BareEast describes a vCenter with one VM.
const BareEast = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: 1}]
    vms: [{name: n1, cluster: c1}]
`

// SOAPFault returns a fault as an error of a SOAP call.
func SOAPFault(f types.AnyType) error {
	var fault soap.Fault
	fault.Detail.Fault = f
	return soap.WrapSoapFault(&fault)
}

// TwoVCenters describes vCenters with equal names of VMs and datacenters.
const TwoVCenters = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    folder: prod
    tags: {region: east}
    clusters:
    - {name: c1, tags: {zone: a}, hosts: 2, pools: [{name: gold}]}
    - {name: c2, tags: {zone: b}, hosts: 1}
    vms:
    - {name: n1, cluster: c1, pool: gold}
    - {name: n2, cluster: c2, folder: x/y}
    - {name: off, cluster: c1, power: "off"}
    - {name: tmpl, cluster: c1, template: true}
  - name: dc2
    tags: {region: east}
    clusters: [{name: c3, tags: {zone: c}, hosts: 1}]
    vms: [{name: n3, cluster: c3}]
- name: west
  datacenters:
  - name: dc1
    folder: prod
    tags: {region: west}
    clusters:
    - {name: c1, tags: {zone: a}, hosts: 2, pools: [{name: gold}]}
    vms: [{name: w1, cluster: c1, pool: gold}]
`

// MustURL parses a URL.
func MustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
