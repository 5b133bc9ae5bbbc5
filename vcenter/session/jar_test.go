package session

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSessionJar checks that only the session cookie is stored and sent.
func TestSessionJar(t *testing.T) {
	const host = "vc.example.test:8443"
	at := func(scheme, host string) *url.URL { return &url.URL{Scheme: scheme, Host: host, Path: "/sdk"} }
	session := func(value string) *http.Cookie {
		return &http.Cookie{Name: "vmware_soap_session", Value: value, Quoted: true}
	}
	ended := session("52-made-up")
	ended.MaxAge = -1
	for name, c := range map[string]struct {
		from *url.URL
		set  []*http.Cookie
		want string
	}{
		"none":                 {at("https", host), nil, ""},
		"the session":          {at("https", host), []*http.Cookie{session("52-made-up")}, `vmware_soap_session="52-made-up"`},
		"a later one":          {at("https", host), []*http.Cookie{session("52-made-up"), session("53")}, `vmware_soap_session="53"`},
		"one that has ended":   {at("https", host), []*http.Cookie{session("52-made-up"), ended}, ""},
		"one without a value":  {at("https", host), []*http.Cookie{session("52-made-up"), session("")}, ""},
		"one that is too long": {at("https", host), []*http.Cookie{session(string(make([]byte, maxCookie+1)))}, ""},
		"in plain text":        {at("http", host), []*http.Cookie{session("52-made-up")}, ""},
		"from another host":    {at("https", "vc.example.test"), []*http.Cookie{session("52-made-up")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			jar := newSessionJar(host)
			for i := range 10_000 {
				jar.SetCookies(c.from, []*http.Cookie{{Name: fmt.Sprint("c", i), Value: "made-up"}})
			}
			jar.SetCookies(c.from, c.set)
			var header http.Request
			header.Header = http.Header{}
			for _, cookie := range jar.Cookies(at("https", host)) {
				header.AddCookie(cookie)
			}
			if diff := cmp.Diff(c.want, header.Header.Get("Cookie")); diff != "" {
				t.Errorf("cookies sent to the vCenter (-want +got):\n%s", diff)
			}
			if got := jar.Cookies(at("http", host)); len(got) > 0 {
				t.Errorf("cookies sent in plain text: %v, want none", got)
			}
		})
	}
}
