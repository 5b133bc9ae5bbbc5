package config

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var aRef = SecretRef{Namespace: "kube-system", Name: "vsphere-cloud-secret"}

// decodeSecret reads a manifest as kubectl does.
func decodeSecret(t testing.TB, manifest Password) map[string]string {
	t.Helper()
	var s corev1.Secret
	if err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest.Reveal()), 64).Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Kind != "Secret" || s.APIVersion != "v1" || s.Namespace != aRef.Namespace || s.Name != aRef.Name || s.Data != nil {
		t.Errorf("bad Secret: %+v", s.ObjectMeta)
	}
	return s.StringData
}

func TestConvert(t *testing.T)    { testConvert(t, "good", 15) }
func TestINIConvert(t *testing.T) { testConvert(t, "ini-good", 12) }

// testConvert checks that the converted file means what the file did, but that the
// accounts are in the Secret.
func testConvert(t *testing.T, folder string, least int) {
	eachFile(t, folder, least, func(t *testing.T, _, file string, data []byte) {
		want, err := Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Convert(file, data, aRef)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("converted.yaml", w.Data)
		if err != nil {
			t.Fatalf("does not load: %v\n%s", err, w.Data)
		}
		var accounts []string
		for i := range want.VCenters {
			vc := &want.VCenters[i]
			if vc.Secret == (SecretRef{}) && vc.SecretsDirectory == "" {
				accounts = append(accounts, vc.Server, vc.User, vc.Password.Reveal())
			}
			moveAccount(vc)
		}
		sameMeaning(t, got, want)
		checkAccounts(t, w, accounts)
		if !reflect.DeepEqual(w.Warnings, want.Warnings) {
			t.Errorf("got warnings %v, want %v", w.Warnings, want.Warnings)
		}
	})
}

// checkAccounts checks that the Secret holds just the accounts: server, user and
// password of each.
func checkAccounts(t *testing.T, w *Written, accounts []string) {
	t.Helper()
	if len(accounts) == 0 {
		if !w.Private.IsEmpty() {
			t.Error("there is a Secret for no account")
		}
		return
	}
	secrets, err := readSecrets("secret.yaml", []byte(w.Private.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	for a := range slices.Chunk(accounts, 3) {
		l, ok := accountIn(secrets, aRef, a[0])
		if !ok || l.user != a[1] || l.password.Reveal() != a[2] {
			t.Errorf("not the account of %s: %v", a[0], ok)
		}
		if keys += 2; strings.Contains(a[0], ":") {
			keys++
		}
	}
	if got := len(decodeSecret(t, w.Private)); got != keys {
		t.Errorf("the Secret has %d keys, want %d", got, keys)
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
  south: {server: "fd00::10", secretName: own, secretNamespace: vzones, user: u, password: S3cretS3cret}
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
    secretNamespace: vzones
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
	w, err := Convert("f.yaml", []byte(file), aRef)
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
	const lost = `f.yaml:9: vcenter.south.password: the credentials come from the Secret vzones/own: ` +
		`write user and password there if it has none for fd00::10`
	if len(w.Lost) != 1 || w.Lost[0].String() != lost {
		t.Errorf("lost: %v", w.Lost)
	}
}

func TestConvertLosesTheCommonWalk(t *testing.T) {
	w, err := Convert("f.conf", []byte("[VirtualCenter \"10.0.0.1\"]\nuser = user\npassword = password\n"+
		"[Labels]\ntopology-categories = k8s-zone,k8s-rack\n"), aRef)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Lost) != 1 || w.Lost[0].Line != 5 || !strings.Contains(w.Lost[0].String(), "in one walk") {
		t.Errorf("lost: %v", w.Lost)
	}
	if want := "labels:\n  zone: k8s-zone\ntopology:\n  levels:\n    - label: k8s-rack\n      tag: k8s-rack\n      required: true\n      nested: false\n"; !strings.HasSuffix(string(w.Data), want) {
		t.Errorf("got\n%s", w.Data)
	}
}

func TestConvertWantsOneAccountForAnAddress(t *testing.T) {
	file := "vcenter:\n  a: {server: 10.0.0.1, user: a, password: S3cretS3cret}\n  b: {server: 10.0.0.1, port: 444, user: a, password: "
	if _, err := Convert("f", []byte(file+"S3cretS3cret}\n"), aRef); err != nil {
		t.Errorf("the same account: %v", err)
	}
	if _, err := Convert("f", []byte(strings.Replace(file, "user: a", "user: b", 1)+"S3cretS3cret}\n"), aRef); err == nil {
		t.Error("another user: no error")
	}
	_, err := Convert("f", []byte(file+"Other42Other}\n"), aRef)
	const want = "f:3: vcenter.b.password: is of another account than that of the same address in another entry, " +
		"and a Secret has one for each address: write a Secret for this entry, or the same account for both"
	if all, ok := errors.AsType[Errors](err); !ok || all.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestConvertChecksTheName(t *testing.T) {
	for _, ref := range []SecretRef{{"kube-system", ""}, {"kube-system", "A"}, {"", "s"}, {"a.b", "s"}, {"n", strings.Repeat("a", 254)}} {
		w, err := Convert("f", []byte("vcenter:\n  10.0.0.1:\n"+anAccount), ref)
		if _, mistakes := errors.AsType[Errors](err); w != nil || err == nil || mistakes || err.Error() != ref.Check().Error() {
			t.Errorf("%v: got %v and error %v", ref, w, err)
		}
	}
}

// TestSecretManifests: any text that a file can hold comes back, for kubectl too.
func TestSecretManifests(t *testing.T) {
	check := func(user, password string) bool {
		user, password = strings.ToValidUTF8(user, "?")+"u", strings.ToValidUTF8(password, "?")+"p"
		m := secretManifest(aRef, []login{{"vc.example.com", user, NewPassword(password)}, {"fd00::10", password, NewPassword(user)}})
		data := decodeSecret(t, m)
		s, err := readSecrets("f", []byte(m.Reveal()))
		if err != nil {
			t.Fatal(err)
		}
		l, ok := accountIn(s, aRef, "vc.example.com")
		six, okSix := accountIn(s, aRef, "fd00:0::10")
		return ok && okSix && l.user == user && l.password.Reveal() == password && six.user == password && six.password.Reveal() == user &&
			len(data) == 5 && data["vc.example.com.username"] == user && data["vc.example.com.password"] == password &&
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

// oddTexts are texts that some reader takes for something else.
func oddTexts() []string {
	return []string{
		"", " ", "yes", "null", "~", "0123", "1e3", "0x10", "1:20", "a: b", "a #b", "#", ";", `\`, `"`, `'`, `\"`, `a\`, "*a", "&a", "!a", "%a", "@a", "`",
		"---", "...", "- a", "? a", "[a", "{a", "|", ">", "a\nb", "\n", "\ta", "a\tb ", " a", "<<", "=", "a=b", "\u0085", "\u2028", "\ufeff", "\x7f",
		"ü", "\U0001f600", "2020-01-01", "a\n\n b\n", strings.Repeat("word ", 60),
	}
}

// TestYAMLTexts: any text comes back from what the writer writes.
func TestYAMLTexts(t *testing.T) {
	check := func(s string) bool {
		s = strings.ToValidUTF8(s, "?") + "x"
		if got := lines(t, s+"\n"); got != s+"\n" {
			t.Errorf("%q comes back as %q", s+"\n", got)
		}
		c := &schema{}
		c.vcenters = []*section{{name: s, server: text{v: s, set: true}, datacenters: list{v: []text{{v: s}, {v: "y"}}, set: true}}}
		c.nodes.labels.rows = []row{{key: s, value: text{v: s, set: true}}, {key: "empty"}}
		p := &problems{file: "f", words: &yamlWords}
		data := yamlWriter{comment: func(position) string { return "comment" }}.file(c, "head")
		got := readYAML(data, p)
		if p.err() != nil && isEntryName(s) {
			t.Errorf("%q: %v\n%s", s, p.err(), data)
			return false
		}
		if !isEntryName(s) {
			return true
		}
		e := got.vcenters[0]
		return e.name == s && e.server.v == s && e.datacenters.v[0].v == s && e.datacenters.v[1].v == "y" &&
			got.nodes.labels.rows[0].key == s && got.nodes.labels.rows[0].value.v == s && got.nodes.labels.rows[1].value.v == "" &&
			bytes.Count(data, []byte("# comment")) == 4
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

// lines returns what a text is that was written and read again.
func lines(t *testing.T, s string) string {
	t.Helper()
	c := &schema{}
	c.global = section{caData: text{v: s, set: true}, server: text{v: "after", set: true}}
	p := &problems{file: "f", words: &yamlWords}
	got := readYAML(yamlWriter{comment: func(position) string { return "comment" }}.file(c, "head"), p)
	if p.err() != nil || got.global.server.v != "after" {
		t.Errorf("%q: %v", s, p.err())
		return ""
	}
	return got.global.caData.v
}
