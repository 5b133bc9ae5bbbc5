package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/configtest"
)

const (
	inYAML = "global:\n  user: file\n  password: file\n  port: 8443\nvcenter:\n  10.0.0.1:\n"
	asINI  = "[Global]\nuser = file\npassword = file\nport = 8443\n[VirtualCenter \"10.0.0.1\"]\n"
)

// withoutWarnings is what dump shows of the settings alone.
func withoutWarnings(c *config.Config) string {
	settings := *c
	settings.Warnings = nil
	return dump(&settings)
}

// TestVariablesBesideNamedVCenters: none changes a vCenter of the file, as in the CPI,
// which reads them when its vCenters have inherited. Their values do not matter.
func TestVariablesBesideNamedVCenters(t *testing.T) {
	in := map[string][]string{
		"YAML": {
			"has no effect, because the file names vCenters: remove it, or write server under global",
			"has no effect, because the file names vCenters: remove it, or write port under global",
			"has no effect, because the file names vCenters: remove it, or write datacenters under global",
			"has no effect, because the file names vCenters: remove it, or write soapRoundtripCount under global",
			"has no effect, because the file names vCenters: remove it, and trust the certificate by caData, caFile or thumbprint",
			"has no effect, because the file names vCenters: remove it, or write caFile under global",
			"has no effect, because the file names vCenters: remove it, or write thumbprint under global",
			"has no effect, because the file names vCenters: remove it, or write ipFamily under global",
		},
		"INI": {
			"has no effect, because the file names vCenters: remove it, or write server in [Global]",
			"has no effect, because the file names vCenters: remove it, or write port in [Global]",
			"has no effect, because the file names vCenters: remove it, or write datacenters in [Global]",
			"has no effect, because the file names vCenters: remove it, or write soap-roundtrip-count in [Global]",
			"has no effect, because the file names vCenters: remove it, and trust the certificate by ca-file or thumbprint",
			"has no effect, because the file names vCenters: remove it, or write ca-file in [Global]",
			"has no effect, because the file names vCenters: remove it, or write thumbprint in [Global]",
			"has no effect, because the file names vCenters: remove it, or write ip-family in [Global]",
		},
	}
	const account = "has no effect, because the file says where the credentials come from: remove it"
	names := []string{
		"VSPHERE_VCENTER", "VSPHERE_VCENTER_PORT", "VSPHERE_DATACENTER", "VSPHERE_ROUNDTRIP_COUNT", "VSPHERE_INSECURE",
		"VSPHERE_CAFILE", "VSPHERE_THUMBPRINT", "VSPHERE_IP_FAMILY",
	}
	usable := []string{"10.0.0.2", "9443", "dc1, dc2", "7", "true", "testdata/ca/ca.pem", strings.Repeat("AB", 20), "ipv6"}
	unusable := []string{"https://10.0.0.2", "https", "a\nb", "-1", "TRUE", "no/such.pem", "x", "ipv5"}
	for format, text := range map[string]string{"YAML": inYAML, "INI": asINI} {
		plain, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range [][]string{usable, unusable} {
			environ := []string{"VSPHERE_USER=env", "VSPHERE_PASSWORD=S3cretS3cret"}
			want := []string{"environment variable VSPHERE_USER: " + account, "environment variable VSPHERE_PASSWORD: " + account}
			for i, name := range names {
				environ = append(environ, name+"="+values[i])
				want = append(want, "environment variable "+name+": "+in[format][i])
			}
			got, err := Parse("f", []byte(text), environ...)
			if err != nil {
				t.Errorf("%s: %v", format, err)
				continue
			}
			if withoutWarnings(got) != withoutWarnings(plain) || got.VCenters[0].Password.Reveal() != "file" {
				t.Errorf("%s: got:\n%s\nand without variables:\n%s", format, dump(got), dump(plain))
			}
			told := configtest.WarningsOf(got)
			slices.Sort(told)
			slices.Sort(want)
			if !slices.Equal(told, want) {
				t.Errorf("%s: got:\n%s\nwant:\n%s", format, strings.Join(told, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// TestWhatNamesAVCenter: an entry, or the server of the global section.
func TestWhatNamesAVCenter(t *testing.T) {
	const variable = "VSPHERE_INSECURE=1"
	for _, text := range []string{
		"vcenter:\n  10.0.0.1:\n" + configtest.AnAccount,
		"global:\n  server: 10.0.0.1\n  user: u\n  password: p\n",
		"global:\n  insecureFlag: false\nvcenter:\n  10.0.0.1:\n" + configtest.AnAccount,
		asINI,
		"[Global]\nserver = 10.0.0.1\nuser = u\npassword = p\n",
	} {
		cfg, err := Parse("f", []byte(text), variable)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if cfg.VCenters[0].Insecure || len(cfg.Warnings) != 1 ||
			!strings.HasPrefix(cfg.Warnings[0].String(), "environment variable VSPHERE_INSECURE: has no effect, because the file names vCenters: ") {
			t.Errorf("%s\ngot %t, %v", text, cfg.VCenters[0].Insecure, cfg.Warnings)
		}
	}
	// What the file itself switches off stays off, and is told besides.
	cfg, err := Parse("f", []byte("global:\n  insecureFlag: true\nvcenter:\n  10.0.0.1:\n"+configtest.AnAccount), "VSPHERE_INSECURE=false")
	if err != nil || !cfg.VCenters[0].Insecure || len(cfg.Warnings) != 2 ||
		cfg.Warnings[0].String() != "environment variable VSPHERE_INSECURE: has no effect, because the file names vCenters: remove it, or write insecureFlag under global" {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

// TestVariablesNameTheVCenter: where the file names none, each that is taken says so.
func TestVariablesNameTheVCenter(t *testing.T) {
	environ := []string{
		"VSPHERE_USER=env", "VSPHERE_PASSWORD=a=b#c", "VSPHERE_VCENTER_PORT=9443", "VSPHERE_VCENTER=10.0.0.2",
		"VSPHERE_DATACENTER=dc1, dc2", "VSPHERE_ROUNDTRIP_COUNT=7", "VSPHERE_INSECURE=T", "VSPHERE_IP_FAMILY=ipv6,ipv4",
		"VSPHERE_LABEL_REGION=k8s-region", "VSPHERE_LABEL_ZONE=k8s-zone", "VSPHERE_SECRET_NAME=", "VSPHERE_API_DISABLE=true",
		"PATH=/bin", "odd",
	}
	const want = `vcenter "10.0.0.2"
  server: 10.0.0.2 port 9443
  datacenters: dc1 | dc2
  user: env
  password: [redacted]
  insecure: true
  round trips: 7
  ip families: [ipv6 ipv4]
label topology.kubernetes.io/region: category "k8s-region" required true
label topology.kubernetes.io/zone: category "k8s-zone" required true
`
	for _, c := range []struct{ text, want string }{
		{"global:\n  port: 8443\n  user: file\n", `warning environment variable VSPHERE_VCENTER: sets server, because the file names no vCenter: write it under global instead
warning environment variable VSPHERE_VCENTER_PORT: overrides global.port, because the file names no vCenter: write it under global instead
warning environment variable VSPHERE_USER: overrides global.user, because the file names no vCenter: write secretName and secretNamespace under global instead
warning environment variable VSPHERE_PASSWORD: sets password, because the file names no vCenter: write secretName and secretNamespace under global instead
warning environment variable VSPHERE_DATACENTER: sets datacenters, because the file names no vCenter: write it under global instead
warning environment variable VSPHERE_ROUNDTRIP_COUNT: sets soapRoundtripCount, because the file names no vCenter: write it under global instead
warning environment variable VSPHERE_IP_FAMILY: sets ipFamily, because the file names no vCenter: write it under global instead
warning environment variable VSPHERE_API_DISABLE: has no effect: vzones does not serve the API of the vSphere CPI
warning environment variable VSPHERE_INSECURE: switches the verification of the server's certificate off for vCenter "10.0.0.2": whoever is between vzones and the vCenter gets the password: remove it, and trust the certificate by caData, caFile or thumbprint
`},
		{"[Global]\nport = 8443\nuser = file\n", `warning environment variable VSPHERE_VCENTER: sets server, because the file names no vCenter: write it in [Global] instead
warning environment variable VSPHERE_VCENTER_PORT: overrides [Global] port, because the file names no vCenter: write it in [Global] instead
warning environment variable VSPHERE_USER: overrides [Global] user, because the file names no vCenter: write secret-name and secret-namespace in [Global] instead
warning environment variable VSPHERE_PASSWORD: sets password, because the file names no vCenter: write secret-name and secret-namespace in [Global] instead
warning environment variable VSPHERE_DATACENTER: sets datacenters, because the file names no vCenter: write it in [Global] instead
warning environment variable VSPHERE_ROUNDTRIP_COUNT: sets soap-roundtrip-count, because the file names no vCenter: write it in [Global] instead
warning environment variable VSPHERE_IP_FAMILY: sets ip-family, because the file names no vCenter: write it in [Global] instead
warning environment variable VSPHERE_API_DISABLE: has no effect: vzones does not serve the API of the vSphere CPI
warning environment variable VSPHERE_INSECURE: switches the verification of the server's certificate off for vCenter "10.0.0.2": whoever is between vzones and the vCenter gets the password: remove it, and trust the certificate by ca-file or thumbprint
`},
	} {
		cfg, err := Parse("f", []byte(c.text), environ...)
		if err != nil {
			t.Fatalf("%s\n%v", c.text, err)
		}
		if got := dump(cfg); got != want+c.want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.text, got, want+c.want)
		}
		if got := cfg.VCenters[0].Password.Reveal(); got != "a=b#c" {
			t.Errorf("%s\ngot password %q", c.text, got)
		}
	}
}

// TestVariablesOfTrust: they too name the only vCenter's.
func TestVariablesOfTrust(t *testing.T) {
	fingerprint := strings.TrimSuffix(strings.Repeat("AB:", 20), ":")
	cfg, err := Parse("f", []byte("global: {insecureFlag: true, user: u, password: p}\n"), "VSPHERE_VCENTER=10.0.0.2",
		"VSPHERE_INSECURE=false", "VSPHERE_CAFILE=testdata/ca/ca.pem", "VSPHERE_THUMBPRINT="+fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if vc := cfg.VCenters[0]; vc.Insecure || vc.CAFile != "testdata/ca/ca.pem" || vc.Thumbprint != fingerprint {
		t.Errorf("got %+v", vc)
	}
	want := []string{
		"environment variable VSPHERE_VCENTER: sets server, because the file names no vCenter: write it under global instead",
		"environment variable VSPHERE_INSECURE: overrides global.insecureFlag, because the file names no vCenter: write it under global instead",
		"environment variable VSPHERE_CAFILE: sets caFile, because the file names no vCenter: write it under global instead",
		"environment variable VSPHERE_THUMBPRINT: sets thumbprint, because the file names no vCenter: write it under global instead",
	}
	if got := configtest.WarningsOf(cfg); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestUnusableVariables: what the CPI passes over, with a word, is passed over.
func TestUnusableVariables(t *testing.T) {
	text := "global: {port: 8443, soapRoundtripCount: 5, user: u, password: p}\n"
	const (
		port  = "environment variable VSPHERE_VCENTER_PORT: is ignored, because it is not a port: write a number from 1 to 65535, or remove it"
		count = "environment variable VSPHERE_ROUNDTRIP_COUNT: is ignored, because it is not a count: write a number, at least 1, or remove it"
		truth = "environment variable VSPHERE_INSECURE: is ignored, because it is neither true nor false: write one of the two, or remove it"
	)
	for variable, want := range map[string]string{
		"VSPHERE_VCENTER_PORT=abc": port, "VSPHERE_VCENTER_PORT=0": port, "VSPHERE_VCENTER_PORT=65536": port, "VSPHERE_VCENTER_PORT=-443": port,
		"VSPHERE_ROUNDTRIP_COUNT=-1": count, "VSPHERE_ROUNDTRIP_COUNT=0": count, "VSPHERE_ROUNDTRIP_COUNT=x": count,
		"VSPHERE_INSECURE=maybe": truth, "VSPHERE_INSECURE=yes": truth,
	} {
		cfg, err := Parse("f", []byte(text), "VSPHERE_VCENTER=10.0.0.2", variable)
		if err != nil {
			t.Errorf("%s: %v", variable, err)
			continue
		}
		if vc := cfg.VCenters[0]; vc.Port != 8443 || vc.RoundTrips != 5 || vc.Insecure {
			t.Errorf("%s: got %+v", variable, vc)
		}
		if got := configtest.WarningsOf(cfg); len(got) != 2 || got[1] != want {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
	}
}

func TestMistakesInTheEnvironment(t *testing.T) {
	const file = "[Global]\nprot = 443\n"
	_, err := Parse("vsphere.conf", []byte(file),
		"VSPHERE_VCENTER_PORT=https", "VSPHERE_INSECURE=maybe", "VSPHERE_ROUNDTRIP_COUNT=-1",
		"VSPHERE_SECRET_NAME=accounts", "VSPHERE_SECRETS_DIRECTORY=etc/secrets", "VSPHERE_VCENTER=https://10.0.0.2",
		"VSPHERE_VCENTER_EAST=10.0.0.3", "VSPHERE_CAFILE=no/such.pem", "VSPHERE_PASSWORD=S3cretS3cret", "VSPHERE_USER= x",
		"VSPHERE_THUMBPRINT=x", "VSPHERE_IP_FAMILY=ipv5", "VSPHERE_LABEL_ZONE= x", "VSPHERE_DATACENTER=a\nb")
	want := `environment variable VSPHERE_VCENTER_EAST: is not read: write the vCenter into the file
environment variable VSPHERE_USER: begins or ends with a blank: remove it
environment variable VSPHERE_VCENTER: is a URL: write a host name or an IP address, here 10.0.0.2
environment variable VSPHERE_DATACENTER: has a line break or another control character: write it on one line
environment variable VSPHERE_THUMBPRINT: is not a valid fingerprint: write the SHA-1 or SHA-256 one of the server's certificate, 20 or 32 pairs of hexadecimal digits, with colons between them or without
environment variable VSPHERE_IP_FAMILY: is not a valid IP family: write ipv4 or ipv6, with a comma between the two (found "ipv5")
environment variable VSPHERE_SECRETS_DIRECTORY: is not an absolute path: write one that begins with /, such as /etc/cloud/secrets (found "etc/secrets")
environment variable VSPHERE_CAFILE: the file cannot be read: no such file or directory: write the path of a PEM file
environment variable VSPHERE_SECRET_NAME: has no VSPHERE_SECRET_NAMESPACE beside it: write both in the same place
environment variable VSPHERE_LABEL_ZONE: begins or ends with a blank: remove it
vsphere.conf:2: [Global] prot: unknown key: did you mean port?`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	all, _ := errors.AsType[config.Errors](err)
	for _, e := range all {
		if inFile := e.File != ""; inFile != (e.Line > 0) {
			t.Errorf("got %#v", e)
		}
	}
}

// TestPositionsInTheEnvironment: no message names a line that there is not.
func TestPositionsInTheEnvironment(t *testing.T) {
	_, err := Parse("f", []byte("global: {user: u, password: p}\n"), "VSPHERE_VCENTER=-x")
	if err == nil || strings.Contains(err.Error(), "line") || strings.Contains(err.Error(), "f:") {
		t.Errorf("got %v", err)
	}
	cfg, err := Parse("f", []byte("global:\n  user: u\n  password: p\n  thumbprint: "+strings.Repeat("AB", 20)+"\n"), "VSPHERE_INSECURE=true", "VSPHERE_VCENTER=10.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"environment variable VSPHERE_VCENTER: sets server, because the file names no vCenter: write it under global instead",
		`environment variable VSPHERE_INSECURE: switches the verification of the server's certificate off for vCenter "10.0.0.1": ` +
			"whoever is between vzones and the vCenter gets the password: remove it, and trust the certificate by caData, caFile or thumbprint",
		"f:4: global.thumbprint: has no effect for the vCenter of the environment variable VSPHERE_VCENTER: " +
			"the environment variable VSPHERE_INSECURE switches the verification of the vCenter's certificate off",
	}
	if got := configtest.WarningsOf(cfg); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestVariablesOfNodes: those beside the global section's.
func TestVariablesOfNodes(t *testing.T) {
	text := inYAML + "nodes:\n  internalNetworkSubnetCidr: 192.0.2.0/24\n  skipDeletion: false\n"
	cfg, err := Parse("f", []byte(text),
		"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0/8,fd00::/8", "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR=192.0.2.0/24",
		"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME=inside", "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME=outside", "SKIP_NODE_DELETION=true")
	if err != nil {
		t.Fatal(err)
	}
	a := cfg.Addresses
	if got := fmt.Sprintln(a.InternalSubnets, a.ExternalSubnets, a.InternalNetwork, a.ExternalNetwork); got !=
		"[10.0.0.0/8 fd00::/8] [192.0.2.0/24] inside outside\n" {
		t.Errorf("got %s", got)
	}
	if !cfg.SkipNodeDeletion || len(cfg.Warnings) > 0 {
		t.Errorf("got %t, %v", cfg.SkipNodeDeletion, cfg.Warnings)
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
		cfg, err := Parse("f", []byte(asINI), c.variable)
		if err != nil {
			t.Errorf("%s: %v", c.variable, err)
			continue
		}
		var warnings []string
		for _, w := range cfg.Warnings {
			warnings = append(warnings, w.String())
		}
		if cfg.SkipNodeDeletion != c.skip || !slices.Equal(warnings, c.want) {
			t.Errorf("%s: got %t, %q", c.variable, cfg.SkipNodeDeletion, warnings)
		}
	}
}
