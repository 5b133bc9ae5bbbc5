package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/parse"
	"vzones/config/parse/ini"
	"vzones/topology"
)

func TestConvertToCSI(t *testing.T) { testConvertToCSI(t, "good", 15) }

func TestINIConvertToCSI(t *testing.T) { testConvertToCSI(t, "ini-good", 12) }

// testConvertToCSI reads what was written as the driver does, and as our own
// configuration: the vCenters and the categories of required labels are the same.
func testConvertToCSI(t *testing.T, folder string, least int) {
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		want, err := parse.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ToCSI(file, data, CSIOptions{Secrets: secretsFor(want), Find: findAccount})
		if err != nil {
			// Many files have a user that the driver refuses.
			refused, mistakes := errors.AsType[config.Errors](err)
			if !mistakes || slices.ContainsFunc(refused, func(e config.Error) bool { return !strings.Contains(e.Message, "the CSI driver ") }) {
				t.Fatal(err)
			}
			return
		}
		if w.Data != nil {
			t.Error("there is something that may be shown")
		}
		d := readAsDriver(t, w)
		if len(d.VirtualCenter) != len(want.VCenters) {
			t.Errorf("got %d vCenters", len(d.VirtualCenter))
		}
		if slices.ContainsFunc(w.Lost, func(w config.Warning) bool { return strings.HasPrefix(w.Message, "no user and password") }) {
			if !strings.HasPrefix(file, "secrets-directory.") {
				t.Errorf("no credentials: %v", w.Lost)
			}
			return
		}
		if why := d.refused(); why != "" {
			t.Errorf("the driver refuses it: %s", why)
		}
		got, err := parse.Parse("csi.conf", []byte(w.Private.Reveal()))
		if err != nil {
			t.Fatalf("does not load: %v\n%s", err, w.Private.Reveal())
		}
		for i := range want.VCenters {
			vc := &want.VCenters[i]
			if vc.Secret != (config.SecretRef{}) {
				vc.User, vc.Password = "from-secret@vsphere.local", config.NewPassword("FromTheSecret42")
			}
			if vc.CAFile == "" {
				vc.CA = nil
			}
		}
		sameForCSI(t, got, want)
	})
}

// secretsFor has an account for each vCenter that has a Secret.
func secretsFor(c *config.Config) Secrets {
	var s Secrets
	for _, vc := range c.VCenters {
		if vc.Secret != (config.SecretRef{}) {
			s.all = append(s.all, secretContent{vc.Secret, map[string]config.Password{
				vc.Server + ".username": config.NewPassword("from-secret@vsphere.local"), vc.Server + ".password": config.NewPassword("FromTheSecret42"),
			}})
		}
	}
	return s
}

// requiredCategories are region's, zone's and the others', by name.
func requiredCategories(c *config.Config) []string {
	var all []string
	for _, rules := range []topology.Rules{c.Topology.Policy.Rules, c.Topology.Policy.Levels} {
		for _, r := range rules {
			if r.Category == "" || !r.Required {
				continue
			}
			if r.Label == topology.LabelRegion || r.Label == topology.LabelZone {
				all = append(all, r.Label+" "+r.Category)
			} else {
				all = append(all, r.Category)
			}
		}
	}
	return all
}

func TestCSIFile(t *testing.T) {
	const file = `global:
  secretName: s
  secretNamespace: n
  ipFamily: [ipv6]
  soapRoundtripCount: 5
vcenter:
  east: {server: vc-east.example.com, caFile: /a.pem, datacenters: [dc1, /prod/dc2]}
  west: {server: "fd00::10", insecureFlag: true, thumbprint: 00112233445566778899aabbccddeeff00112233}
  south: {server: 10.0.0.3, port: 8443, caFile: /b.pem, user: 'x\u', password: 'a"b;c#d\'}
labels:
  region: Site
  zone: {hostGroup: site-*}
topology:
  precedence: csi
  paths: [compute]
  levels:
  - {label: example.com/rack, tag: rack, required: true}
  - {label: example.com/row, tag: row}
  - {label: example.com/site, tag: Site, required: true}
  - {label: example.com/host, inventory: host}
nodes:
  selector: a=b
`
	const want = `# Written by vzones convert from f.yaml.

[Global]
cluster-id = "c\"1"

[VirtualCenter "vc-east.example.com"]
port = "443"
insecure-flag = "false"
datacenters = "dc1, /prod/dc2"
ca-file = "/a.pem"

[VirtualCenter "fd00::10"]
user = "six@x"
password = "p"
port = "443"
insecure-flag = "true"
thumbprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"

[VirtualCenter "10.0.0.3"]
user = "x\\u"
password = "a\"b;c#d\\"
port = "8443"
insecure-flag = "false"
ca-file = "/b.pem"

[Labels]
topology-categories = "Site,rack"

[TopologyCategory "Site"]
label = "topology.kubernetes.io/region"
`
	lost := []string{
		"2: global.secretName: no user and password of vc-east.example.com: they are in the Secret n/s: write both into the new file, or give a Secret's manifest with --credentials",
		"4: global.ipFamily: the CSI driver has nothing like it",
		"5: global.soapRoundtripCount: the CSI driver has nothing like it",
		"7: vcenter.east: the name of the entry: the CSI driver names a vCenter by its address alone",
		"8: vcenter.west: the name of the entry: the CSI driver names a vCenter by its address alone",
		"9: vcenter.south: the name of the entry: the CSI driver names a vCenter by its address alone",
		"12: labels.zone: the value is from DRS host groups, and the CSI driver reads tags only",
		"15: topology.paths: the CSI driver has nothing like it",
		`17: topology.levels[0].label: the CSI driver's file has no labels for categories: where vzones reads it, the label has the category's name`,
		"18: topology.levels[1]: the label is optional, and the CSI driver requires each category",
		"20: topology.levels[3]: the value is from the inventory, and the CSI driver reads tags only",
		"22: nodes.selector: the CSI driver has nothing like it",
	}
	secrets, err := readSecrets("s", []byte("kind: Secret\nmetadata: {name: s}\nstringData: {server_1: \"fd00::10\", username_1: six@x, password_1: p}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := ToCSI("f.yaml", []byte(file), CSIOptions{ClusterID: `c"1`, Secrets: secrets, Find: findAccount})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Private.Reveal(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var got []string
	for _, l := range w.Lost {
		got = append(got, strings.TrimPrefix(l.String(), "f.yaml:"))
	}
	if !slices.Equal(got, lost) {
		t.Errorf("lost:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lost, "\n"))
	}
	if d := readAsDriver(t, w); d.Global.ClusterID != `c"1` || d.VirtualCenter["10.0.0.3"].Password != `a"b;c#d\` {
		t.Errorf("the driver reads %+v", d.Global)
	}
}

// TestCSIHasNoDirectory: what is in one cannot be given with a flag.
func TestCSIHasNoDirectory(t *testing.T) {
	w, err := ToCSI("f", []byte("global:\n  secretsDirectory: /dir\nvcenter:\n  10.0.0.1:\n"), CSIOptions{ClusterID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "f:2: global.secretsDirectory: no user and password of 10.0.0.1: they are in the directory /dir: write both into the new file"
	if len(w.Lost) != 1 || w.Lost[0].String() != want {
		t.Errorf("lost: %v", w.Lost)
	}
}

func TestCSICannotHold(t *testing.T) {
	six := "vcenter:\n"
	for i := range 6 {
		six += fmt.Sprintf("  10.0.0.%d: {user: u@x, password: p}\n", i)
	}
	const one = "vcenter:\n  10.0.0.1: {user: u@x, password: p}\n"
	for _, c := range []struct{ name, file, want string }{
		{"six vCenters", six + "labels: {zone: a}\n", `f:7: vcenter["10.0.0.5"]: is vCenter 6: the CSI driver takes at most 5: remove one`},
		{
			"six categories", one + "labels: {region: a, zone: b}\ntopology:\n  levels:\n" +
				"  - {label: c, tag: c, required: true}\n  - {label: d, tag: d, required: true}\n" +
				"  - {label: e, tag: e, required: true}\n  - {label: f, tag: f, required: true}\n",
			`f:9: topology.levels[3]: is category 6: the CSI driver takes at most 5: remove one`,
		},
		{
			"an address twice", one + "  b: {server: 10.0.0.1, port: 444, user: u@x, password: p}\nlabels: {zone: a}\n",
			`f:3: vcenter.b: has the address of vcenter["10.0.0.1"] in line 2, by which the CSI driver tells vCenters apart: remove one of the two`,
		},
		{
			"a comma", one + "labels: {zone: 'a,b'}\n",
			`f:3: labels.zone: has a comma in the name of the category, which separates two in the CSI driver's file: rename it`,
		},
		{
			"a carriage return", "vcenter:\n  10.0.0.1: {user: u@x, password: \"S3cret\\rS3cret\"}\n",
			`f:2: vcenter["10.0.0.1"].password: password has a character that the INI format cannot hold: change it`,
		},
	} {
		w, err := ToCSI("f", []byte(c.file), CSIOptions{})
		if all, ok := errors.AsType[config.Errors](err); w != nil || !ok || all.Error() != c.want {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	for _, id := range []string{"a\rb", "a\x00", "\xff", strings.Repeat("a", 65)} {
		w, err := ToCSI("f", []byte(one), CSIOptions{ClusterID: id})
		if _, mistakes := errors.AsType[config.Errors](err); w != nil || mistakes || err == nil || !strings.HasPrefix(err.Error(), "the name for the cluster") {
			t.Errorf("%q: got %v and error %v", id, w, err)
		}
	}
}

// TestINITexts: any text comes back from gcfg, and from our own reader.
func TestINITexts(t *testing.T) {
	check := func(s string) bool {
		s = strings.Map(func(r rune) rune {
			if !ini.Holds(string(r)) {
				return '?'
			}
			return r
		}, strings.ToValidUTF8(s, "?")) + "x"
		var w ini.Writer
		w.Section("Global", "")
		w.Key("cluster-id", s)
		name := "name"
		if check.IsEntryName(s) {
			name = s
		}
		w.Section("VirtualCenter", name)
		w.Key("password", s)
		d := readAsDriver(t, &Written{Private: config.NewPassword(w.String())})
		p := &problem.List{File: "f", Words: &problem.INIWords}
		own := ini.Read([]byte(w.String()), p)
		return p.Err() == nil && d.Global.ClusterID == s && d.VirtualCenter[name].Password == s &&
			own.VCenters[0].Name == name && own.VCenters[0].Password.V.Reveal() == s
	}
	for _, s := range oddTexts() {
		if !check(s) {
			t.Errorf("%q does not come back", s)
		}
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}
