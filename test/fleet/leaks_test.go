package fleet

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLeaks: a forbidden text is found in every part of a request, and only in requests to that
// vCenter.
func TestLeaks(t *testing.T) {
	for name, c := range map[string]struct{ header, query, body, want string }{
		"none":      {},
		"a header":  {header: "Bearer made-up", want: "a token to east"},
		"a query":   {query: "?t=made-up", want: "a token to east"},
		"the body":  {body: "<a>made-up</a>", want: "a token to east"},
		"a part":    {body: "made"},
		"otherwise": {header: "Bearer other"},
	} {
		f := &Fleet{vcenters: []*VCenter{{name: "east"}, {name: "west"}}}
		f.Forbid("east", "a token", "made-up")
		r := httptest.NewRequest(http.MethodPost, "/sdk"+c.query, nil)
		r.Header.Set("Authorization", c.header)
		for _, v := range f.VCenters() {
			v.leaks.look(r, []byte(c.body))
			v.leaks.look(r, []byte(c.body))
		}
		if got := strings.Join(f.Leaked(), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
