package convert

import (
	"net/netip"
	"strings"
	"testing"
)

// accountIn looks an account up in the data of a Secret, with less care than the daemon.
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
