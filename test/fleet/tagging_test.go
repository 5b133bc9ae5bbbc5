package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
)

// A caller calls the tagging service of a vCenter by hand.
type caller struct {
	*testing.T
	v    *VCenter
	http http.Client
	id   string
}

// call sends a request and returns status and body.
func (c *caller) call(method, path, body string) (int, string, http.Header) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "https://"+c.v.server.address()+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if strings.HasSuffix(path, "/session") && method == http.MethodPost {
		req.SetBasicAuth(c.v.User(), c.v.Password())
	}
	req.Header.Set(restSessionHeader, c.id)
	res, err := c.http.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(got)), res.Header
}

func (c *caller) want(method, path, body string, status int, part string) {
	c.Helper()
	got, text, _ := c.call(method, path, body)
	if got != status || !strings.Contains(text, part) {
		c.Errorf("%s %s: %d %q, want %d %q", method, path, got, text, status, part)
	}
}

func callTagging(t *testing.T) (*caller, *govmomi.Client) {
	v, c := startOne(t)
	return &caller{T: t, v: v, http: http.Client{Transport: c.Client.Client.DefaultTransport().Clone()}}, c
}

const (
	apiList  = "/api/cis/tagging/tag-association?action=list-attached-tags-on-objects"
	restList = "/rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"
)

// objects is the body of a request about objects of the vCenter.
func (c *caller) objects(names ...string) string {
	c.Helper()
	var all []taggedObject
	for _, name := range names {
		ref, err := c.v.Reference(name)
		if err != nil {
			c.Fatal(err)
		}
		all = append(all, taggedObject{ref.Value, ref.Type})
	}
	body, _ := json.Marshal(map[string]any{"object_ids": all})
	return string(body)
}

func TestAPIAndREST(t *testing.T) {
	c, _ := callTagging(t)
	defer c.http.CloseIdleConnections()
	if err := c.v.Tag("c1", "zone", "a"); err != nil {
		t.Fatal(err)
	}
	c.want("GET", "/api/cis/tagging/category", "", 401, `"error_type":"UNAUTHENTICATED"`)
	status, id, _ := c.call("POST", "/api/session", "")
	if status != http.StatusCreated || json.Unmarshal([]byte(id), &c.id) != nil || c.v.RESTSessions() != 1 {
		t.Fatalf("%d %q, %d sessions", status, id, c.v.RESTSessions())
	}
	tag, category := c.v.tags.tags[[2]string{"zone", "a"}], c.v.tags.categories["zone"]
	c.want("POST", apiList, c.objects("c1", "c2"), 200, `["`+tag+`"]`)
	c.want("POST", restList, c.objects("c1", "c2"), 200, `{"value":[`)
	c.want("GET", "/api/cis/tagging/tag/"+tag, "", 200, `"name":"a"`)
	c.want("GET", "/api/cis/tagging/category", "", 200, `["`+category+`"]`)
	c.want("GET", "/api/cis/tagging/category/"+category, "", 200, `"name":"zone"`)
	c.want("GET", "/api/cis/tagging/tag/urn:none", "", 404, `"error_type":"NOT_FOUND"`)
	c.want("GET", "/api/else", "", 404, "")
	if n := c.v.Requests()["POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"]; n != 2 {
		t.Errorf("%d listings are counted: %v", n, c.v.Requests())
	}

	c.v.ServeAPI(false)
	c.want("POST", "/api/session", "", 404, `"com.vmware.vapi.rest.httpNotFound"`)
	c.want("POST", apiList, c.objects("c1"), 404, `"error_type":"NOT_FOUND"`)
	c.want("POST", restList, c.objects("c1"), 200, tag)
	c.v.ServeAPI(true)
	c.v.ServeREST(false)
	c.want("POST", restList, c.objects("c1"), 404, `"com.vmware.vapi.rest.operationsForUrlNotFound"`)
	c.v.RefuseAPISessions(405)
	c.want("POST", "/api/session", "", 405, "")
	c.v.RefuseAPISessions(0)
	c.want("POST", "/rest/com/vmware/cis/session", "", 404, "std.errors.not_found")
	c.want("POST", apiList, c.objects("c1"), 200, tag)
	c.want("DELETE", "/api/session", "", 204, "")
	if n := c.v.RESTSessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestTaggingThatMayNotBeRead(t *testing.T) {
	c, _ := callTagging(t)
	defer c.http.CloseIdleConnections()
	for _, category := range []string{"zone", "rack"} {
		if err := c.v.Tag("c1", category, "a"); err != nil {
			t.Fatal(err)
		}
	}
	_, id, _ := c.call("POST", "/api/session", "")
	_ = json.Unmarshal([]byte(id), &c.id)
	zone, rack := c.v.tags.tags[[2]string{"zone", "a"}], c.v.tags.tags[[2]string{"rack", "a"}]

	if err := c.v.DenyRead("c2"); err != nil {
		t.Fatal(err)
	}
	c.want("POST", apiList, c.objects("c1", "c2"), 403, "UNAUTHORIZED")
	c.want("POST", apiList, c.objects("c1"), 200, zone)
	if err := c.v.AllowRead("c2"); err != nil {
		t.Fatal(err)
	}
	c.want("POST", apiList, c.objects("c1", "c2"), 200, zone)

	for how, want := range map[Deleted]int{DeletedForbidden: 403, DeletedNotFound: 404, DeletedInvalid: 400, DeletedBreaks: 500, DeletedLeftOut: 200, "": 200} {
		if err := c.v.ForgetObject("c2", how); err != nil {
			t.Fatal(err)
		}
		c.want("POST", apiList, c.objects("c1", "c2"), want, "")
	}
	if c.v.ForgetObject("c2", "gone") == nil || c.v.DenyRead("nowhere") == nil {
		t.Error("a mistake is no error")
	}

	for _, status := range []int{403, 404} {
		c.v.HideCategory("zone", status)
		_, text, _ := c.call("POST", apiList, c.objects("c1"))
		if strings.Contains(text, zone) || !strings.Contains(text, rack) {
			t.Errorf("attached are %s", text)
		}
		_, text, _ = c.call("GET", "/api/cis/tagging/category", "")
		if strings.Contains(text, c.v.tags.categories["zone"]) {
			t.Errorf("categories are %s", text)
		}
		c.want("GET", "/api/cis/tagging/tag/"+zone, "", status, "error_type")
		c.want("GET", "/rest/com/vmware/cis/tagging/category/id:"+c.v.tags.categories["zone"], "", status, "com.vmware.vapi")
	}
	c.v.ShowCategory("zone")
	c.want("POST", apiList, c.objects("c1"), 200, zone)
}

func TestFailingTagging(t *testing.T) {
	c, soap := callTagging(t)
	defer c.http.CloseIdleConnections()
	c.v.StartTagging()
	c.want("POST", "/api/session", "", 503, "SERVICE_UNAVAILABLE")
	c.v.ThrottleTagging()
	if status, _, header := c.call("POST", "/api/session", ""); status != 429 || header.Get("Retry-After") != "1" {
		t.Errorf("%d, %v", status, header)
	}
	c.want("POST", "/rest/com/vmware/cis/session", "", 503, "<html>")
	if err := read(deadline(t, time.Minute), soap); err != nil {
		t.Errorf("SOAP: %v", err)
	}

	c.v.HangTagging()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.v.server.address()+"/api/session", nil)
	if res, err := c.http.Do(req); !errors.Is(err, context.DeadlineExceeded) {
		_ = res.Body.Close()
		t.Errorf("%v", err)
	}
	if err := read(deadline(t, time.Minute), soap); err != nil {
		t.Errorf("SOAP: %v", err)
	}
	c.v.RecoverTagging()
	c.want("POST", "/api/session", "", 201, `"`)
}
