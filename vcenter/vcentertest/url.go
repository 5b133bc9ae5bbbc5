package vcentertest

import (
	"net/url"
	"testing"
)

// MustURL parses a URL.
func MustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
