package credentials_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

func secret(kv ...string) map[string][]byte {
	data := map[string][]byte{}
	for i := 0; i < len(kv); i += 2 {
		data[kv[i]] = []byte(kv[i+1])
	}
	return data
}

func account(user, password string) credentials.Credentials {
	return credentials.Credentials{User: user, Password: config.NewPassword(password)}
}

func manager(url, token string) credentials.Credentials {
	return credentials.Credentials{SessionManagerURL: url, SessionManagerToken: config.NewPassword(token)}
}

func TestFind(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "vzones-solution-user")
	const url = "https://sessions.example.com/session"
	several := secret(
		"vc1.example.com.username", "one", "vc1.example.com.password", "made-up-1",
		"vc2.example.com.vc-session-manager-url", url, "vc2.example.com.vc-session-manager-token", "made-up-2",
		"server_0", "fd01::1", "username_0", "three", "password_0", "made-up-3",
		"server_b", "10.0.0.4", "username_b", "four", "password_b", "made-up-4",
		"vc5.example.com.username", "broken",
	)
	for name, c := range map[string]struct {
		data   map[string][]byte
		server string
		want   credentials.Credentials
	}{
		"one of several, by address":         {several, "vc1.example.com", account("one", "made-up-1")},
		"one of several, a session manager":  {several, "vc2.example.com", manager(url, "made-up-2")},
		"one of several, IPv6":               {several, "fd01::1", account("three", "made-up-3")},
		"one of several, IPv4 with a suffix": {several, "10.0.0.4", account("four", "made-up-4")},
		"another spelling of IPv6":           {several, "FD01:0:0:0:0:0:0:0001", account("three", "made-up-3")},
		"IPv4 in IPv6":                       {several, "::ffff:10.0.0.4", account("four", "made-up-4")},
		"brackets and blanks":                {secret("server_x", " [fd01::1]\n", "username_x", "a", "password_x", "b"), "fd01::1", account("a", "b")},
		"a long suffix":                      {secret("server_east.dc-1", "fd01::1", "username_east.dc-1", "a", "password_east.dc-1", "b"), "fd01::1", account("a", "b")},
		"IPv6 in a file's name":              {secret("fd01::1.username", "a", "fd01::1.password", "b"), "fd01::0001", account("a", "b")},
		"another letter case":                {secret("VC.Example.com.username", "a", "VC.Example.com.password", "b"), "vc.example.com", account("a", "b")},
		"a dot at the end":                   {secret("vc.example.com.username", "a", "vc.example.com.password", "b"), "vc.example.com.", account("a", "b")},
		"as it is written comes first": {secret("VC.username", "other", "VC.password", "other", "vc.username", "a", "vc.password", "b"),
			"vc", account("a", "b")},
		"twice the same": {secret("server_0", "fd01::1", "username_0", "a", "password_0", "b", "server_1", "fd01:0::1", "username_1", "a\n", "password_1", "b"),
			"fd01::1", account("a", "b")},
		"a suffix comes before the address": {secret("10.0.0.1.username", "x", "10.0.0.1.password", "y", "server_0", "10.0.0.1", "username_0", "a", "password_0", "b"),
			"10.0.0.1", account("a", "b")},
		"a session manager comes before an account": {secret("vc.username", "a", "vc.password", "b", "vc.vc-session-manager-url", url, "vc.vc-session-manager-token", "t"), "vc", manager(url, "t")},
		"a session manager beside half an account":  {secret("vc.username", "a", "vc.vc-session-manager-url", url, "vc.vc-session-manager-token", "t"), "vc", manager(url, "t")},
		"a token and an account":                    {secret("vc.username", "a", "vc.password", "b", "vc.vc-session-manager-token", "t"), "vc", account("a", "b")},
		"line breaks at the ends": {secret("vc.username", "a\n", "vc.password", "b\r\n"),
			"vc", account("a", "b")},
		"line breaks at the ends, session manager": {secret("vc.vc-session-manager-url", url+"\n", "vc.vc-session-manager-token", "t\n"), "vc", manager(url, "t")},
		"special characters":                       {secret("vc.username", `DOM\me`, "vc.password", " a=\"b\";#c:é "), "vc", account(`DOM\me`, " a=\"b\";#c:é ")},
		"certificate":                              {secret("vc.username", cert, "vc.password", key), "vc", credentials.Credentials{Certificate: strings.TrimSuffix(cert, "\n"), Key: config.NewPassword(strings.TrimSuffix(key, "\n"))}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := credentials.Find(c.data, c.server)
			if err != nil || !got.Equal(c.want) {
				t.Errorf("Find for %s: %v, error %v, want %v", c.server, got, err, c.want)
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	cert, key := vcentertest.UserCertificate(t, "vzones-solution-user")
	const url = "https://sessions.example.com/session"
	for name, c := range map[string]struct {
		data   map[string][]byte
		server string
		want   string
	}{
		"no password":             {secret("vc.username", "made-up"), "vc", `the key "vc.password" is missing although "vc.username" exists: add it with the password`},
		"no user":                 {secret("vc.password", "made-up"), "vc", `the key "vc.username" is missing although "vc.password" exists: add it with the user name`},
		"empty password":          {secret("vc.username", "made-up", "vc.password", "\n"), "vc", `the key "vc.password" is empty: set it to the password`},
		"no URL":                  {secret("vc.vc-session-manager-token", "made-up"), "vc", `the key "vc.vc-session-manager-url" is missing although "vc.vc-session-manager-token" exists: add it with the session manager's address`},
		"empty URL":               {secret("vc.vc-session-manager-url", ""), "vc", `the key "vc.vc-session-manager-url" is empty: set it to the session manager's address`},
		"suffix, no user":         {secret("server_a", "fd01::1", "password_a", "made-up"), "fd01::1", `the key "username_a" is missing although "password_a" exists: add it with the user name`},
		"contradiction":           {secret("server_a", "fd01::1", "username_a", "x", "password_a", "made-up", "server_b", "fd01:0::1", "username_b", "y", "password_b", "made-up"), "fd01::1", `the keys "server_a" and "server_b" belong to the same vCenter but contain different credentials: remove one of them and its related keys`},
		"letter case":             {secret("VC.username", "x", "VC.password", "made-up", "Vc.password", "made-up"), "vc", `the keys "VC.username" and "Vc.password" belong to the same vCenter but contain different credentials: remove one of them and its related keys`},
		"a line break":            {secret("vc.username", "x", "vc.password", "made\nup"), "vc", `the key "vc.password" contains a line break or another control character: specify its value on one line`},
		"no text":                 {secret("vc.username", "x", "vc.password", "made-up\xff"), "vc", `the key "vc.password" contains bytes that are not UTF-8: specify its value as text`},
		"no token":                {secret("vc.vc-session-manager-url", url), "vc", `the key "vc.vc-session-manager-token" is missing although "vc.vc-session-manager-url" exists: add it with the session manager's token (the Pod's own token is never sent)`},
		"empty token":             {secret("vc.username", "made-up", "vc.password", "made-up", "vc.vc-session-manager-url", url, "vc.vc-session-manager-token", "\n"), "vc", `the key "vc.vc-session-manager-token" is empty: set it to the session manager's token (the Pod's own token is never sent)`},
		"no URL at all":           {secret("vc.vc-session-manager-url", "made-up"), "vc", `the key "vc.vc-session-manager-url" is not a valid URL: use a URL such as https://sessions.example.com/session`},
		"secret in URL":           {secret("vc.vc-session-manager-url", "https://made:up@sm.example.com/"), "vc", `the key "vc.vc-session-manager-url" contains a URL with a user name or password, which is not sent: remove them, and put the token into the key that ends with vc-session-manager-token`},
		"over the wire":           {secret("vc.vc-session-manager-url", "http://sm.example.com/"), "vc", `the key "vc.vc-session-manager-url" is an http URL, which exposes the token: use an https URL`},
		"over the wire, here":     {secret("vc.vc-session-manager-url", "http://127.0.0.1:10250/pods", "vc.vc-session-manager-token", "t"), "vc", `the key "vc.vc-session-manager-url" is an http URL, which exposes the token: use an https URL`},
		"over the wire, by name":  {secret("vc.vc-session-manager-url", "http://localhost:18080/s", "vc.vc-session-manager-token", "t"), "vc", `the key "vc.vc-session-manager-url" is an http URL, which exposes the token: use an https URL`},
		"over the wire, IPv6":     {secret("vc.vc-session-manager-url", "HTTP://[::1]:80/s", "vc.vc-session-manager-token", "t"), "vc", `the key "vc.vc-session-manager-url" is an http URL, which exposes the token: use an https URL`},
		"certificate without key": {secret("vc.username", cert, "vc.password", "made-up"), "vc", `the keys "vc.username" and "vc.password" must contain a certificate and its private key, but the password is not a private key in PEM: specify the certificate's key`},
		"the two exchanged":       {secret("vc.username", key, "vc.password", cert), "vc", `the keys "vc.username" and "vc.password" must contain a certificate and its private key, but its PEM text does not start with a readable CERTIFICATE block: specify the whole certificate`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := credentials.Find(c.data, c.server)
			if err == nil || err.Error() != c.want || !got.IsEmpty() {
				t.Errorf("%v, %v\nwant %s", got, err, c.want)
			}
			if errors.Is(err, credentials.ErrNone) {
				t.Error("something is there")
			}
		})
	}
}

func TestFindNone(t *testing.T) {
	for name, c := range map[string]struct {
		data   map[string][]byte
		server string
		want   string
	}{
		"nothing": {nil, "vc", `no credentials for vc: add the keys "vc.username" and "vc.password", or "vc.vc-session-manager-url"`},
		"another": {secret("evil.vc.username", "made-up", "vc.usernam", "made-up", ".username", "made-up", "username", "made-up"), "vc",
			`no credentials for vc: add the keys "vc.username" and "vc.password", or "vc.vc-session-manager-url"; found keys for other addresses: "evil.vc.username"`},
		"IPv6": {secret("server_0", "fd01::2", "username_0", "made-up"), "fd01::1",
			`no credentials for fd01::1: add the key "server_0" with that address, and "username_0" and "password_0" with the same suffix`},
		"no address beside it": {secret("username_0", "made-up", "password_0", "made-up"), "fd01::1",
			`no credentials for fd01::1: add the key "server_0" with that address, and "username_0" and "password_0" with the same suffix; "password_0" has no matching key "server_0" with an address`},
		"no server": {secret(".username", "made-up", "server_a", ""), "", `no credentials for : add the keys ".username" and ".password", or ".vc-session-manager-url"`},
	} {
		_, err := credentials.Find(c.data, c.server)
		if !errors.Is(err, credentials.ErrNone) || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// FuzzFind checks that errors contain no values, the data stays unchanged, and found credentials are
// complete.
func FuzzFind(f *testing.F) {
	f.Add("vc", "vc.username", "value-1", "vc.password", "value-2", "server_0", "vc")
	f.Add("fd01::1", "server_0", "fd01:0::1", "username_0", "value-1", "password_0", "value-2")
	f.Add("vc", "vc.vc-session-manager-url", "https://value-1/", "vc.vc-session-manager-token", "value-2", "", "")
	f.Add("vc", "vc.username", "-----BEGIN CERTIFICATE-----\n", "vc.password", "value-2", "Vc.username", "value-3")
	f.Fuzz(func(t *testing.T, server, k1, v1, k2, v2, k3, v3 string) {
		const mark = "0ld-made-up-s3cret"
		data := secret(k1, v1, k2, v2, k3, v3)
		before := maps.Clone(data)
		c, err := credentials.Find(data, server)
		if !maps.EqualFunc(data, before, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Fatal("the data was changed")
		}
		if err == nil {
			if c.IsEmpty() || c.SessionManagerURL == "" && (c.User == "") == (c.Certificate == "") || c.User != "" && c.Password.IsEmpty() {
				t.Errorf("these cannot log in: %v", c)
			}
			again, err := credentials.Find(data, server)
			if err != nil || !again.Equal(c) {
				t.Errorf("another time %v, %v", again, err)
			}
			return
		}
		if strings.ContainsAny(err.Error(), "\n\r") && !strings.ContainsAny(server, "\n\r") {
			t.Errorf("%q has several lines", err)
		}
		for k, v := range data {
			if !strings.Contains(server, mark) && !strings.Contains(k, mark) {
				data[k] = []byte(string(v[:len(v)/2]) + mark + string(v[len(v)/2:]))
			}
		}
		if _, err := credentials.Find(data, server); err != nil && strings.Contains(err.Error(), mark) && !strings.Contains(server+k1+k2+k3, mark) {
			t.Errorf("%q has a part of a value", err)
		}
	})
}

// TestNamesWithUnderscores covers addresses that look like a prefix.
func TestNamesWithUnderscores(t *testing.T) {
	for _, server := range []string{"vc_1.example", "server_1.example", "username_1.example", "password_1.example"} {
		for _, data := range []map[string][]byte{
			{server + ".username": []byte("me"), server + ".password": []byte("made-up")},
			{strings.ToUpper(server) + "..username": []byte("me"), strings.ToUpper(server) + "..password": []byte("made-up")},
			{"server_0": []byte(server), "username_0": []byte("me"), "password_0": []byte("made-up"), "server_1.example": []byte("other.example")},
		} {
			if got, err := credentials.Find(data, server); err != nil || !got.Equal(account("me", "made-up")) {
				t.Errorf("%s in %v: %v, %v", server, slices.Sorted(maps.Keys(data)), got, err)
			}
			for key := range data {
				if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
					t.Errorf("a Secret cannot have %s: %v", key, problems)
				}
			}
		}
	}
}
