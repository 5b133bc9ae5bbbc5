package tags_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/rest"
	"vzones/vcenter/tags"
)

// TestAnswersWithoutAValue checks that an empty successful answer does not mean that there are no tags.
func TestAnswersWithoutAValue(t *testing.T) {
	for _, answer := range []string{"204", "200null", "200", "200{}", `200{"value":null}`} {
		for _, path := range []string{"/api/cis/tagging/", "/rest/com/vmware/cis/tagging/"} {
			t.Run(answer+path, func(t *testing.T) {
				c := serve(t, path, answer)
				if attached, err := c.Attached(t.Context(), []tags.Ref{{Type: "Folder", Value: "group-d1"}}); err == nil {
					t.Errorf("tags %v", attached)
				}
				// Some servers encode an empty list as null. Without a category all tags are unknown.
				null := path+answer == "/api/cis/tagging/200null" || path+answer == `/rest/com/vmware/cis/tagging/200{"value":null}`
				if ids, err := c.Categories(t.Context()); (err == nil) != null {
					t.Errorf("categories %v: %v", ids, err)
				}
			})
		}
	}
}

// serve returns a client of a server that answers requests below a path, and all others with 404 and
// an HTML page.
func serve(t *testing.T, path, answer string) tags.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, path) {
			http.Error(w, "<html>no such page</html>", http.StatusNotFound)
			return
		}
		code, _ := strconv.Atoi(answer[:3])
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer[3:]))
	}))
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return tags.NewClient(rest.NewClient(soap.NewClient(u, true)), func(ctx context.Context, _ string, call func(context.Context) error) error {
		return call(ctx)
	})
}
