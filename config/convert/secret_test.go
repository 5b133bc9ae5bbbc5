package convert

import (
	"net/netip"
	"strings"
	"testing"

	"vzones/config"
)

// accountIn looks an account up as the writers mean it, with less care than the
// daemon.
func accountIn(s Secrets, ref config.SecretRef, server string) (login, bool) {
	for _, data := range s.of(ref) {
		if user, password, _ := findAccount(data, server); user != "" {
			return login{server: server, user: user, password: password}, true
		}
	}
	return login{}, false
}

// findAccount is for CSIOptions.Find.
func findAccount(data map[string][]byte, server string) (string, config.Password, error) {
	user, password := server+".username", server+".password"
	for key, value := range data {
		suffix, ok := strings.CutPrefix(key, "server_")
		if ok && sameAddress(string(value), server) && data["password_"+suffix] != nil {
			user, password = "username_"+suffix, "password_"+suffix
		}
	}
	return string(data[user]), config.NewPassword(string(data[password])), nil
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return a == b || errX == nil && errY == nil && x == y
}

func TestReadSecrets(t *testing.T) {
	const manifests = `apiVersion: v1
kind: Secret
metadata: {name: one}
data: {10.0.0.1.username: dQ==, 10.0.0.1.password: cA==}
stringData: {10.0.0.1.username: user}
---
kind: Secret
metadata: {name: two, namespace: n}
stringData: {server_a: "fd00::1", username_a: half, server_b: "fd00:0::1", username_b: six, password_b: p6}
---
`
	s, err := readSecrets("f", []byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ref    config.SecretRef
		server string
		want   string
	}{
		{config.SecretRef{Namespace: "any", Name: "one"}, "10.0.0.1", "user p"},
		{config.SecretRef{Namespace: "any", Name: "one"}, "10.0.0.2", " "},
		{config.SecretRef{Namespace: "n", Name: "two"}, "fd00::1", "six p6"},
		{config.SecretRef{Namespace: "m", Name: "two"}, "fd00::1", " "},
		{config.SecretRef{Namespace: "n", Name: "three"}, "10.0.0.1", " "},
	} {
		l, ok := accountIn(s, c.ref, c.server)
		if got := l.user + " " + l.password.Reveal(); got != c.want || ok != (c.want != " ") {
			t.Errorf("%v of %s: got %q, %t", c.ref, c.server, got, ok)
		}
	}
	for _, bad := range []string{
		"", "---\n", "vcenter: {}", "kind: ConfigMap", "a: [", "kind: Secret\ndata: {S3cret: S3cret!}", "S3cretS3cret",
		"kind: Secret\nmetadata: {name: x}\nstringData: {a: {b: S3cret}}",
	} {
		_, err := readSecrets("secret.yaml", []byte(bad))
		if err == nil || !strings.HasPrefix(err.Error(), "secret.yaml") || strings.Contains(err.Error(), "S3cret!") || strings.Contains(err.Error(), "S3cretS3cret") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func readSecrets(file string, data []byte) (Secrets, error) {
	var s Secrets
	err := s.Add(file, data)
	return s, err
}

// TestConvertWantsAccountsThatASecretHolds: an account that the daemon would not find
// again in the Secret, or with another password, is a mistake.
func TestConvertWantsAccountsThatASecretHolds(t *testing.T) {
	const (
		another = ": is of another account than that of the same address in another entry, and a Secret has one for each address: " +
			"write a Secret for this entry, or the same account for both"
		control = ": has a line break or another control character, which no password in a Secret may have: " +
			"remove it if it does not belong to the password, or change the password"
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
