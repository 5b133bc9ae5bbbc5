package convert

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/load"
)

var aRef = config.SecretRef{Namespace: "kube-system", Name: "vsphere-cloud-secret"}

// decodeSecret parses a manifest as kubectl does.
func decodeSecret(t testing.TB, manifest config.Password) map[string]string {
	t.Helper()
	var s corev1.Secret
	if err := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest.Reveal()), 64).Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Kind != "Secret" || s.APIVersion != "v1" || s.Namespace != aRef.Namespace || s.Name != aRef.Name || s.Data != nil {
		t.Errorf("bad Secret: %+v", s.ObjectMeta)
	}
	return s.StringData
}

func TestConvert(t *testing.T) { testConvert(t, "good", 15) }

func TestINIConvert(t *testing.T) { testConvert(t, "ini-good", 12) }

// testConvert checks that converted files have the same meaning, with the accounts in the Secret.
func testConvert(t *testing.T, folder string, least int) {
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		want, err := load.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ToYAML(file, data, aRef)
		if err != nil {
			t.Fatal(err)
		}
		got, err := load.Parse("converted.yaml", w.Data)
		if err != nil {
			t.Fatalf("does not load: %v\n%s", err, w.Data)
		}
		var accounts []string
		for i := range want.VCenters {
			vc := &want.VCenters[i]
			if vc.Secret == (config.SecretRef{}) && vc.SecretsDirectory == "" {
				accounts = append(accounts, vc.Server, vc.User, vc.Password.Reveal())
			}
			moveAccount(vc)
		}
		sameMeaning(t, got, want)
		checkAccounts(t, w, accounts)
		if diff := cmp.Diff(want.Warnings, w.Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})
}

// checkAccounts checks that the Secret contains exactly these accounts.
func checkAccounts(t *testing.T, w *Written, accounts []string) {
	t.Helper()
	if len(accounts) == 0 {
		if !w.Private.IsEmpty() {
			t.Error("there is a Secret for no account")
		}
		return
	}
	data, keys := decodeSecret(t, w.Private), 0
	for a := range slices.Chunk(accounts, 3) {
		if user, password := accountIn(data, a[0]); user != a[1] || password != a[2] {
			t.Errorf("not the account of %s", a[0])
		}
		if keys += 2; strings.Contains(a[0], ":") {
			keys++
		}
	}
	if len(data) != keys {
		t.Errorf("the Secret has %d keys, want %d", len(data), keys)
	}
}

func TestConvertKeepsTheStructure(t *testing.T) {
	const file = `global:
  user: user@vsphere.local
  password: S3cretS3cret
  insecureFlag: true
  datacenters: ["dc1, dc2"]
vcenter:
  east: {server: vc-east.example.com, insecureFlag: no, ipFamily: []}
  vc-west.example.com:
  south: {server: "fd00::10", secretName: own, secretNamespace: team, user: u, password: S3cretS3cret}
labels:
  zone: "yes"
  region: {inventory: datacenter, required: false}
topology:
  levels: [{label: example.com/rack, tag: rack}]
nodes:
  networks: ["a, b", "#c"]
`
	const want = `# Written by vzones convert from f.yaml.
global:
  insecureFlag: true
  datacenters: ['dc1, dc2']
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system
vcenter:
  east:
    server: vc-east.example.com
    insecureFlag: false
  vc-west.example.com: {}
  south:
    server: fd00::10
    secretName: own
    secretNamespace: team
labels:
  region:
    inventory: datacenter
    required: false
  zone: "yes"
topology:
  levels:
    - label: example.com/rack
      tag: rack
nodes:
  networks: ['a, b', '#c']
`
	w, err := ToYAML("f.yaml", []byte(file), aRef)
	if err != nil {
		t.Fatal(err)
	}
	if string(w.Data) != want {
		t.Errorf("got\n%s\nwant\n%s", w.Data, want)
	}
	checkAccounts(t, w, []string{
		"vc-east.example.com", "user@vsphere.local", "S3cretS3cret",
		"vc-west.example.com", "user@vsphere.local", "S3cretS3cret",
	})
	const lost = `f.yaml:9: vcenter.south.password: the credentials come from the Secret team/own: ` +
		`add user and password there if it contains none for fd00::10`
	if len(w.Lost) != 1 || w.Lost[0].Error() != lost {
		t.Errorf("lost: %v", w.Lost)
	}
}

func TestConvertLosesTheCommonWalk(t *testing.T) {
	w, err := ToYAML("f.conf", []byte("[VirtualCenter \"10.0.0.1\"]\nuser = user\npassword = password\n"+
		"[Labels]\ntopology-categories = k8s-zone,k8s-rack\n"), aRef)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Lost) != 1 || w.Lost[0].Line != 5 || !strings.Contains(w.Lost[0].Error(), "in one walk") {
		t.Errorf("lost: %v", w.Lost)
	}
	if want := "labels:\n  zone: k8s-zone\ntopology:\n  levels:\n    - label: k8s-rack\n      tag: k8s-rack\n      required: true\n      nested: false\n"; !strings.HasSuffix(string(w.Data), want) {
		t.Errorf("got\n%s", w.Data)
	}
}

func TestConvertWantsOneAccountForAnAddress(t *testing.T) {
	file := "vcenter:\n  a: {server: 10.0.0.1, user: a, password: S3cretS3cret}\n  b: {server: 10.0.0.1, port: 444, user: a, password: "
	if _, err := ToYAML("f", []byte(file+"S3cretS3cret}\n"), aRef); err != nil {
		t.Errorf("the same account: %v", err)
	}
	if _, err := ToYAML("f", []byte(strings.Replace(file, "user: a", "user: b", 1)+"S3cretS3cret}\n"), aRef); err == nil {
		t.Error("another user: no error")
	}
	_, err := ToYAML("f", []byte(file+"Other42Other}\n"), aRef)
	const want = "f:3: vcenter.b.password: belongs to a different account than another entry with the same address, " +
		"but a Secret contains one account per address: create a separate Secret for this entry, or use the same account for both"
	if all, ok := errors.AsType[config.Errors](err); !ok || all.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestConvertChecksTheName(t *testing.T) {
	for _, ref := range []config.SecretRef{{Namespace: "kube-system", Name: ""}, {Namespace: "kube-system", Name: "A"}, {Namespace: "", Name: "s"}, {Namespace: "a.b", Name: "s"}, {Namespace: "n", Name: strings.Repeat("a", 254)}} {
		w, err := ToYAML("f", []byte("vcenter:\n  10.0.0.1:\n"+configtest.AnAccount), ref)
		if _, configErrs := errors.AsType[config.Errors](err); w != nil || err == nil || configErrs || err.Error() != ref.Check().Error() {
			t.Errorf("%v: got %v and error %v", ref, w, err)
		}
	}
}

// Every text from a file survives the manifest, for kubectl too.
func TestSecretManifests(t *testing.T) {
	check := func(user, password string) bool {
		user, password = strings.ToValidUTF8(user, "?")+"u", strings.ToValidUTF8(password, "?")+"p"
		m := secretManifest(aRef, []login{{"vc.example.com", user, config.NewPassword(password), 1}, {"fd00::10", password, config.NewPassword(user), 2}})
		data := decodeSecret(t, m)
		gotUser, gotPassword := accountIn(data, "fd00:0::10")
		return gotUser == password && gotPassword == user && len(data) == 5 && data["vc.example.com.username"] == user && data["vc.example.com.password"] == password &&
			data["server_1"] == "fd00::10" && data["username_1"] == password && data["password_1"] == user
	}
	for _, s := range oddTexts() {
		if !check(s, "") {
			t.Errorf("%q does not come back", s)
		}
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// oddTexts are texts that YAML parsers may misinterpret.
func oddTexts() []string {
	return []string{
		"", " ", "yes", "null", "~", "0123", "1e3", "0x10", "1:20", "a: b", "a #b", "#", ";", `\`, `"`, `'`, `\"`, `a\`, "*a", "&a", "!a", "%a", "@a", "`",
		"---", "...", "- a", "? a", "[a", "{a", "|", ">", "a\nb", "\n", "\ta", "a\tb ", " a", "<<", "=", "a=b", "\u0085", "\u2028", "\ufeff", "\x7f",
		"ü", "\U0001f600", "2020-01-01", "a\n\n b\n", strings.Repeat("word ", 60),
	}
}

// Every text survives the YAML writer and reader.
func TestYAMLTexts(t *testing.T) {
	check := func(s string) bool {
		s = strings.ToValidUTF8(s, "?") + "x"
		if got := lines(t, s+"\n"); got != s+"\n" {
			t.Errorf("%q comes back as %q", s+"\n", got)
		}
		value := func(s string) *load.Value { return &load.Value{Text: s, Set: true} }
		e := &load.Section{Name: s, In: config.SectionEntry}
		e.Put("server", value(s))
		e.Put("datacenters", &load.Value{List: []load.Value{{Text: s}, {Text: "y"}}, Set: true})
		c := someContents()
		c.vcenters = []*load.Section{e}
		c.nodes.Put("labels", &load.Value{List: []load.Value{{Key: s, Text: s}, {Key: "empty"}}, Set: true})
		data := writer{comment: func(load.Position) string { return "comment" }}.file(c, "head")
		var got struct {
			VCenter map[string]struct {
				Server      string
				Datacenters []string
			}
			Nodes struct{ Labels map[string]string }
		}
		if err := yaml.Unmarshal(data, &got); err != nil {
			t.Errorf("%q is not valid YAML as it is written: %v\n%s", s, err, data)
			return false
		}
		of := got.VCenter[s]
		return of.Server == s && slices.Equal(of.Datacenters, []string{s, "y"}) && got.Nodes.Labels[s] == s &&
			len(got.Nodes.Labels) == 2 && bytes.Count(data, []byte("# comment")) == 4
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

// lines returns a text after writing and reading it.
func lines(t *testing.T, s string) string {
	t.Helper()
	c := someContents()
	c.global.Put("caData", &load.Value{Text: s, Set: true})
	c.global.Put("server", &load.Value{Text: "after", Set: true})
	var got struct {
		Global struct {
			CAData string `yaml:"caData"`
			Server string
		}
	}
	err := yaml.Unmarshal(writer{comment: func(load.Position) string { return "comment" }}.file(c, "head"), &got)
	if err != nil || got.Global.Server != "after" {
		t.Errorf("%q is written and read again: got the error %v and the key after it %q, want no error and %q", s, err, got.Global.Server, "after")
		return ""
	}
	return got.Global.CAData
}

func someContents() *contents {
	return &contents{global: &load.Section{In: config.SectionGlobal}, region: new(load.Section), zone: new(load.Section), topology: new(load.Section), nodes: new(load.Section)}
}

func TestMain(m *testing.M) { os.Exit(configtest.Main(m)) }

// accountIn finds an account in the data of a Secret by a simpler algorithm than the daemon's.
func accountIn(data map[string]string, server string) (user, password string) {
	user, password = server+".username", server+".password"
	for key, value := range data {
		suffix, ok := strings.CutPrefix(key, "server_")
		if ok && sameAddress(value, server) {
			user, password = "username_"+suffix, "password_"+suffix
		}
	}
	return data[user], data[password]
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return a == b || errX == nil && errY == nil && x == y
}

// An account that the daemon could not read back from the Secret is an error.
func TestAccountsInvalidInASecret(t *testing.T) {
	const (
		another = ": belongs to a different account than another entry with the same address, but a Secret contains one account per address: " +
			"create a separate Secret for this entry, or use the same account for both"
		control = ": contains a line break or another control character, which a password in a Secret cannot contain: " +
			"remove it if it is not part of the password, or change the password"
	)
	entry := func(name, server, port, password string) string {
		return "  " + name + ": {server: '" + server + "', port: " + port + ", user: u, password: " + password + "}\n"
	}
	for _, c := range []struct{ file, want string }{
		{entry("a", "fd00::10", "443", "S3cret") + entry("b", "fd00:0::10", "444", "S3cretToo"), "f:3: vcenter.b.password" + another},
		{entry("a", "::ffff:10.0.0.1", "443", "S3cret") + entry("b", "10.0.0.1", "444", "S3cretToo"), "f:3: vcenter.b.password" + another},
		{entry("a", "vc.example.com", "443", "S3cret") + entry("b", "VC.example.com.", "444", "S3cretToo"), "f:3: vcenter.b.password" + another},
		{entry("a", "10.0.0.1", "443", `"S3cret\n"`), "f:2: vcenter.a.password" + control},
		{entry("a", "10.0.0.1", "443", `"S3\tcret"`), "f:2: vcenter.a.password" + control},
		{entry("a", "10.0.0.1", "443", `"S3cret\r"`), "f:2: vcenter.a.password" + control},
		{entry("a", "fd00::10", "443", "S3cret") + entry("b", "fd00:0::10", "444", "S3cret"), ""},
	} {
		w, err := ToYAML("f", []byte("vcenter:\n"+c.file), aRef)
		if c.want == "" {
			if err != nil || !strings.Contains(w.Private.Reveal(), "server_2") {
				t.Errorf("%s: got %v and error %v", c.file, w, err)
			}
			continue
		}
		if w != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s: got error %v, want %s", c.file, err, c.want)
		}
	}
}
