package main

import (
	"bytes"
	"strings"
	"testing"

	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/test/stack"
)

// TestRetag: what is typed moves a tag, and what there is not is answered by what there is.
func TestRetag(t *testing.T) {
	f := fleettest.Start(t, fleetYAML)
	var out bytes.Buffer
	d := &demo{out: &out, stack: &stack.Stack{Fleet: f}}
	d.obey(strings.NewReader(`
retag paris /dc-1 k8s-zone paris-3
retag rome /dc-1 k8s-zone x
retag paris /dc-9 k8s-zone x
retag paris /dc-1 zone x
retag paris /dc-1
`))
	for _, want := range []string{
		"vCenter paris: /dc-1 has the tag paris-3 of the category k8s-zone now, and no other one\n",
		`there is no vCenter "rome", but paris, milan, porto`,
		"has no object \"/dc-9\"", "\n  /dc-2/host/d1\n",
		`there is no category "zone", but k8s-region, k8s-zone`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), commands); n != 2 {
		t.Errorf("the commands are explained %d times, want at the start and after the last line\n%s", n, &out)
	}
}

// TestPrograms: images are told apart by their names, wherever they come from.
func TestPrograms(t *testing.T) {
	for image, want := range map[string]string{
		"vsphere-cloud-controller-manager:v1.37.0":                                     binary,
		"registry.example.com:5000/vsphere-cloud-controller-manager@sha256:0123":       binary,
		"registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.31.0":              incumbent,
		"registry.k8s.io/pause:3.10":                                                   "",
		"registry.example.com/vsphere-cloud-controller-manager/other:v1":               "",
		"registry.example.com/vsphere-cloud-controller-manager:v1.37.0@sha256:0123456": binary,
	} {
		if got := program(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

// TestPortsOfTheFleet: the description with ports is one, and each vCenter has an address.
func TestPortsOfTheFleet(t *testing.T) {
	spec, err := fleet.Parse([]byte(atPort(fleetYAML, 443)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range spec.VCenters {
		if v.Port != 443 || seen[v.Address] {
			t.Errorf("vCenter %s is at %s:%d", v.Name, v.Address, v.Port)
		}
		seen[v.Address] = true
	}
}
