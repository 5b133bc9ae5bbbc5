package main

import (
	"testing"

	"vzones/test/fleet"
)

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
