package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	inYAML = "global:\n  user: file\n  password: file\n  port: 8443\nvcenter:\n  10.0.0.1:\n"
	asINI  = "[Global]\nuser = file\npassword = file\nport = 8443\n[VirtualCenter \"10.0.0.1\"]\n"
)

func TestEnvironmentOverridesTheFile(t *testing.T) {
	environ := []string{
		"VSPHERE_USER=env", "VSPHERE_PASSWORD=a=b#c", "VSPHERE_VCENTER_PORT=9443", "VSPHERE_VCENTER=10.0.0.2",
		"VSPHERE_DATACENTER=dc1, dc2", "VSPHERE_ROUNDTRIP_COUNT=7", "VSPHERE_INSECURE=T", "VSPHERE_IP_FAMILY=ipv6,ipv4",
		"VSPHERE_LABEL_REGION=k8s-region", "VSPHERE_LABEL_ZONE=k8s-zone", "VSPHERE_SECRET_NAME=", "VSPHERE_API_DISABLE=true",
		"VSPHERE_VCENTER_SERVICE_HOST=10.96.0.1", "VSPHERE_VCENTER_PORT_443_TCP=tcp://10.96.0.1:443", "PATH=/bin", "odd",
	}
	trust := map[string]string{"YAML": "caData, caFile or thumbprint", "INI": "ca-file or thumbprint"}
	for format, text := range map[string]string{"YAML": inYAML, "INI": asINI} {
		config, err := Parse("f", []byte(text), environ...)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		want := `vcenter "10.0.0.2"
  server: 10.0.0.2 port 9443
  datacenters: dc1 | dc2
  user: env
  password: [redacted]
  insecure: true
  round trips: 7
  ip families: [ipv6 ipv4]
vcenter "10.0.0.1"
  server: 10.0.0.1 port 9443
  datacenters: dc1 | dc2
  user: env
  password: [redacted]
  insecure: true
  round trips: 7
  ip families: [ipv6 ipv4]
label topology.kubernetes.io/region: category "k8s-region" required true
label topology.kubernetes.io/zone: category "k8s-zone" required true
warning environment variable VSPHERE_VCENTER_PORT_443_TCP: is ignored, with others like it: Kubernetes sets it in the Pod for the Service "vsphere-vcenter": write enableServiceLinks: false into the Pod's specification
warning environment variable VSPHERE_API_DISABLE: has no effect: vzones does not serve the API of the vSphere CPI
warning environment variable VSPHERE_INSECURE: switches the verification of the server's certificate off for vCenters "10.0.0.2", "10.0.0.1": whoever is between vzones and the vCenter gets the password: remove it, and trust the certificate by @@
`
		if got := dump(config); got != strings.ReplaceAll(want, "@@", trust[format]) {
			t.Errorf("%s: got:\n%s\nwant:\n%s", format, got, want)
		}
		if got := config.VCenters[0].Password.Reveal(); got != "a=b#c" {
			t.Errorf("%s: got password %q", format, got)
		}
	}
}

// TestEnvironmentIsOfGlobal: what a vCenter's own section says still counts.
func TestEnvironmentIsOfGlobal(t *testing.T) {
	config, err := Parse("f", []byte(asINI+"user = own\npassword = own\ninsecure-flag = 0\nport = 1443\n"),
		"VSPHERE_USER=env", "VSPHERE_PASSWORD=env", "VSPHERE_INSECURE=1", "VSPHERE_VCENTER_PORT=443",
		"VSPHERE_SECRET_NAME=accounts", "VSPHERE_SECRET_NAMESPACE=kube-system")
	if err != nil {
		t.Fatal(err)
	}
	vc := config.VCenters[0]
	if vc.User != "own" || vc.Password.Reveal() != "own" || vc.Insecure || vc.Port != 1443 ||
		vc.Secret != (SecretRef{Namespace: "kube-system", Name: "accounts"}) {
		t.Errorf("got %+v", vc)
	}
	var warnings []string
	for _, w := range config.Warnings {
		warnings = append(warnings, w.String())
	}
	want := []string{
		"environment variable VSPHERE_USER: has no effect: every vCenter has a Secret",
		"environment variable VSPHERE_PASSWORD: has no effect: every vCenter has a Secret",
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("got warnings %q", warnings)
	}
}

func TestMistakesInTheEnvironment(t *testing.T) {
	_, err := Parse("vsphere.conf", []byte(asINI+"prot = 443\n"),
		"VSPHERE_VCENTER_PORT=https", "VSPHERE_INSECURE=maybe", "VSPHERE_ROUNDTRIP_COUNT=-1",
		"VSPHERE_SECRET_NAME=accounts", "VSPHERE_SECRETS_DIRECTORY=etc/secrets", "VSPHERE_VCENTER=https://10.0.0.2",
		"VSPHERE_VCENTER_EAST=10.0.0.3", "VSPHERE_CAFILE=no/such.pem", "VSPHERE_PASSWORD=S3cretS3cret", "VSPHERE_USER= x",
		"VSPHERE_THUMBPRINT=x", "VSPHERE_IP_FAMILY=ipv5", "VSPHERE_LABEL_ZONE= x", "VSPHERE_DATACENTER=a\nb")
	want := `environment variable VSPHERE_VCENTER_PORT: is no whole number: write it in decimal digits
environment variable VSPHERE_INSECURE: is neither true nor false: write one of the two
environment variable VSPHERE_VCENTER_EAST: is not read: write the vCenter into the file
environment variable VSPHERE_USER: begins or ends with a blank: remove it
environment variable VSPHERE_VCENTER: is a URL: write a host name or an IP address, here 10.0.0.2
environment variable VSPHERE_ROUNDTRIP_COUNT: -1 is no count: write 1 or more
environment variable VSPHERE_THUMBPRINT: is no fingerprint: write the SHA-1 or SHA-256 one of the server's certificate, 20 or 32 pairs of hexadecimal digits, with colons between them or without
environment variable VSPHERE_DATACENTER: has a line break or another control character: write it on one line
environment variable VSPHERE_IP_FAMILY: is no IP family: write ipv4 or ipv6, with a comma between the two (found "ipv5")
environment variable VSPHERE_CAFILE: the file cannot be read: no such file or directory: write the path of a PEM file
environment variable VSPHERE_SECRET_NAME: has no VSPHERE_SECRET_NAMESPACE beside it: write both in the same place
environment variable VSPHERE_SECRETS_DIRECTORY: is no absolute path: write one that begins with /, such as /etc/cloud/secrets (found "etc/secrets")
environment variable VSPHERE_LABEL_ZONE: begins or ends with a blank: remove it
vsphere.conf:6: [VirtualCenter "10.0.0.1"] prot: unknown key: did you mean port?`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	all, _ := errors.AsType[Errors](err)
	for _, e := range all {
		if inFile := e.File != ""; inFile != (e.Line > 0) {
			t.Errorf("got %#v", e)
		}
	}
}

// TestPositionsInTheEnvironment: no message names a line that there is not.
func TestPositionsInTheEnvironment(t *testing.T) {
	_, err := Parse("f", []byte(inYAML+"  east:\n    server: 10.0.0.1\n"), "VSPHERE_VCENTER=10.0.0.2.")
	if err == nil {
		t.Fatal("no error")
	}
	config, err := Parse("f", []byte(inYAML+"    thumbprint: "+strings.Repeat("AB", 20)+"\n"), "VSPHERE_INSECURE=true", "VSPHERE_VCENTER=10.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range config.Warnings {
		got = append(got, w.String())
	}
	want := []string{
		`environment variable VSPHERE_VCENTER: has no effect: the vCenter is the one of vcenter["10.0.0.1"] in line 6`,
		`f:7: vcenter["10.0.0.1"].thumbprint: has no effect for vcenter["10.0.0.1"]: ` +
			"the environment variable VSPHERE_INSECURE switches the verification of certificates off",
	}
	want = slices.Insert(want, 1, `environment variable VSPHERE_INSECURE: switches the verification of the server's certificate off for vCenter "10.0.0.1": `+
		"whoever is between vzones and the vCenter gets the password: remove it, and trust the certificate by caData, caFile or thumbprint")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestVariablesOfNodes: those beside the global section's.
func TestVariablesOfNodes(t *testing.T) {
	text := inYAML + "nodes:\n  internalNetworkSubnetCidr: 192.0.2.0/24\n  skipDeletion: false\n"
	config, err := Parse("f", []byte(text),
		"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0/8,fd00::/8", "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR=192.0.2.0/24",
		"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME=inside", "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME=outside", "SKIP_NODE_DELETION=true")
	if err != nil {
		t.Fatal(err)
	}
	a := config.Addresses
	if got := fmt.Sprintln(a.InternalSubnets, a.ExternalSubnets, a.InternalNetwork, a.ExternalNetwork); got !=
		"[10.0.0.0/8 fd00::/8] [192.0.2.0/24] inside outside\n" {
		t.Errorf("got %s", got)
	}
	if !config.SkipNodeDeletion || len(config.Warnings) > 0 {
		t.Errorf("got %t, %v", config.SkipNodeDeletion, config.Warnings)
	}
}

// TestSwitches: a variable that the CPI only looks for counts with any value.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		variable string
		skip     bool
		want     []string
	}{
		{"SKIP_NODE_DELETION=1", true, nil},
		{"SKIP_NODE_DELETION=", true, []string{"environment variable SKIP_NODE_DELETION: counts as true, as in the vSphere CPI: any value does"}},
		{"SKIP_NODE_DELETION=false", true, []string{"environment variable SKIP_NODE_DELETION: counts as true, as in the vSphere CPI: any value does"}},
		{"ENABLE_ALPHA_DUAL_STACK=1", false, []string{"environment variable ENABLE_ALPHA_DUAL_STACK: has no effect: several IP families need no switch"}},
		{"ENABLE_ALPHA_DUAL_STACK=", false, nil},
		{"OTHER=1", false, nil},
	} {
		config, err := Parse("f", []byte(asINI), c.variable)
		if err != nil {
			t.Errorf("%s: %v", c.variable, err)
			continue
		}
		var warnings []string
		for _, w := range config.Warnings {
			warnings = append(warnings, w.String())
		}
		if config.SkipNodeDeletion != c.skip || !slices.Equal(warnings, c.want) {
			t.Errorf("%s: got %t, %q", c.variable, config.SkipNodeDeletion, warnings)
		}
	}
}
