package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/rest"
)

// serve returns a client of a server and the requests that it received.
func serve(t *testing.T, answer func(w http.ResponseWriter, path string)) (*rest.Client, *[]string) {
	t.Helper()
	var requests []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.Method + " " + r.URL.RequestURI()
		requests = append(requests, path+" "+r.Header.Get("vmware-api-session-id"))
		answer(w, path)
	}))
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return rest.NewClient(soap.NewClient(u, true)), &requests
}

type tag struct {
	Name     string `json:"name"`
	Category string `json:"category_id"`
}

func readTag(t *testing.T, c *rest.Client) (tag tag, err error) {
	t.Helper()
	err = c.Do(t.Context(), &rest.Request{Method: http.MethodGet, Resource: "tagging/tag", ID: "t"}, &tag)
	return tag, err
}

func readCategories(ctx context.Context, c *rest.Client) error {
	var ids []string
	return c.Do(ctx, &rest.Request{Method: http.MethodGet, Resource: "tagging/category"}, &ids)
}

func anyone(req *http.Request) error { req.SetBasicAuth("me", "made-up"); return nil }

// with answers requests by prefix, all others with 404 and an HTML page.
func with(answers map[string]string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, path string) {
		for begin, answer := range answers {
			if strings.HasPrefix(path, begin) {
				var code int
				_, _ = fmt.Sscanf(answer, "%d", &code)
				w.WriteHeader(code)
				_, _ = w.Write([]byte(answer[3:]))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html>no such page</html>"))
	}
}

// TestRoots checks that the first requests determine the root.
func TestRoots(t *testing.T) {
	const (
		notFound     = `404{"error_type":"NOT_FOUND","messages":[{"args":[],"default_message":"HTTP not found","id":"com.vmware.vapi.rest.httpNotFound"}]}`
		notFoundREST = `404{"type":"com.vmware.vapi.std.errors.not_found","value":{"messages":[{"args":[],"id":"com.vmware.vapi.rest.operationsForUrlNotFound"}]}}`
	)
	for name, c := range map[string]struct {
		legacy  bool
		answers map[string]string
		want    []string
	}{
		"/api": {false, map[string]string{
			"POST /api/session": `201"id-1"`, "GET /api/cis/tagging/tag/t": `200{"name":"a","category_id":"c"}`, "DELETE /api/session": "204",
		}, []string{"POST /api/session ", "GET /api/cis/tagging/tag/t id-1", "GET /api/cis/tagging/tag/t id-1", "DELETE /api/session id-1"}},
		"/rest": {false, map[string]string{
			"POST /rest/com/vmware/cis/session": `200{"value":"id-1"}`, "DELETE /rest/com/vmware/cis/session": "200",
			"GET /rest/com/vmware/cis/tagging/tag/id:t": `200{"value":{"name":"a","category_id":"c"}}`,
		}, []string{"POST /api/session ", "POST /rest/com/vmware/cis/session ", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "DELETE /rest/com/vmware/cis/session id-1"}},
		// As in 7.0 before Update 2.
		"a session of /api, tags of /rest": {false, map[string]string{
			"POST /api/session": `201"id-1"`, "DELETE /api/session": "204", "GET /api/cis/tagging": notFound,
			"GET /rest/com/vmware/cis/tagging/tag/id:t": `200{"value":{"name":"a","category_id":"c"}}`,
		}, []string{"POST /api/session ", "GET /api/cis/tagging/tag/t id-1", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "DELETE /api/session id-1"}},
		"a session of /rest where /api has another service": {false, map[string]string{
			"POST /api/session":                 "405",
			"POST /rest/com/vmware/cis/session": `200{"value":"id-1"}`, "DELETE /rest/com/vmware/cis/session": "200",
			"GET /rest/com/vmware/cis/tagging/tag/id:t": `200{"value":{"name":"a","category_id":"c"}}`,
		}, []string{"POST /api/session ", "POST /rest/com/vmware/cis/session ", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "DELETE /rest/com/vmware/cis/session id-1"}},
		"/rest first, which is gone": {true, map[string]string{
			"POST /rest": notFoundREST, "POST /api/session": `201"id-1"`, "GET /api/cis/tagging/tag/t": `200{"name":"a","category_id":"c"}`, "DELETE /api/session": "204",
		}, []string{"POST /rest/com/vmware/cis/session ", "POST /api/session ", "GET /api/cis/tagging/tag/t id-1", "GET /api/cis/tagging/tag/t id-1", "DELETE /api/session id-1"}},
		"/rest first, since /api has another service": {true, map[string]string{
			"POST /api": "400", "GET /api": "400", "DELETE /api": "400",
			"POST /rest/com/vmware/cis/session": `200{"value":"id-1"}`, "DELETE /rest/com/vmware/cis/session": "200",
			"GET /rest/com/vmware/cis/tagging/tag/id:t": `200{"value":{"name":"a","category_id":"c"}}`,
		}, []string{"POST /rest/com/vmware/cis/session ", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "DELETE /rest/com/vmware/cis/session id-1"}},
		"a session of /rest, tags of /api": {true, map[string]string{
			"POST /rest/com/vmware/cis/session": `200{"value":"id-1"}`, "DELETE /rest/com/vmware/cis/session": "200", "GET /rest/com/vmware/cis/tagging": notFoundREST,
			"GET /api/cis/tagging/tag/t": `200{"name":"a","category_id":"c"}`,
		}, []string{"POST /rest/com/vmware/cis/session ", "GET /rest/com/vmware/cis/tagging/tag/id:t id-1", "GET /api/cis/tagging/tag/t id-1", "GET /api/cis/tagging/tag/t id-1", "DELETE /rest/com/vmware/cis/session id-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, requests := serve(t, with(c.answers))
			if err := client.Login(t.Context(), anyone, c.legacy); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, err := readTag(t, client); err != nil || got != (tag{Name: "a", Category: "c"}) {
					t.Errorf("the tag read: %+v, error %v, want name a of category c", got, err)
				}
			}
			if err := client.Logout(t.Context()); err != nil {
				t.Error(err)
			}
			if got := strings.Join(*requests, "\n"); got != strings.Join(c.want, "\n") {
				t.Errorf("requests were\n%s\nwant\n%s", got, strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestNoSuchTag must not select the second root.
func TestNoSuchTag(t *testing.T) {
	client, requests := serve(t, with(map[string]string{"GET /api/cis": `404{"error_type":"NOT_FOUND","messages":[]}`}))
	if _, err := readTag(t, client); !rest.HasStatus(err, http.StatusNotFound) || len(*requests) != 1 {
		t.Errorf("reading a tag that does not exist: error %v, requests %q, want status 404 after one request", err, *requests)
	}
	client, requests = serve(t, with(nil))
	if err := client.Login(t.Context(), anyone, false); !rest.HasStatus(err, http.StatusNotFound) || len(*requests) != 2 {
		t.Errorf("login where neither API exists: error %v, requests %q, want status 404 after two requests", err, *requests)
	}
}

// TestErrors checks that errors quote no proxy page and have the right class.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answer   string
		status   int
		class    rest.Class
		answered bool
		text     string
	}{
		"page":                  {"503<html>secret</html>", 503, rest.Busy, true, "GET /api/cis/tagging/category: 503 Service Unavailable"},
		"throttled":             {`429{"error_type":"X"}`, 429, rest.Busy, true, "GET /api/cis/tagging/category: 429 Too Many Requests"},
		"forbidden":             {`403{"error_type":"UNAUTHORIZED"}`, 403, rest.Denied, true, "GET /api/cis/tagging/category: 403 Forbidden"},
		"no session":            {`401{}`, 401, rest.Unauthenticated, true, "GET /api/cis/tagging/category: 401 Unauthorized"},
		"no session, /api":      {`400{"error_type":"UNAUTHENTICATED"}`, 400, rest.Unauthenticated, true, "GET /api/cis/tagging/category: 400 Bad Request"},
		"no session, /rest":     {`400{"type":"com.vmware.vapi.std.errors.unauthenticated","value":{}}`, 400, rest.Unauthenticated, true, "GET /api/cis/tagging/category: 400 Bad Request"},
		"no session, inside":    {`500{"error_type":"ERROR","data":{"cause":"com.vmware.vapi.std.errors.unauthenticated"}}`, 500, rest.Unauthenticated, true, "GET /api/cis/tagging/category: 500 Internal Server Error"},
		"an error":              {`400{"error_type":"INVALID_ARGUMENT"}`, 400, rest.Failed, true, "GET /api/cis/tagging/category: 400 Bad Request"},
		"no such object":        {`404{"error_type":"NOT_FOUND","messages":[{"id":"com.vmware.vdcs.x"}]}`, 404, rest.NotFound, true, "GET /api/cis/tagging/category: 404 Not Found"},
		"not registered yet":    {`404{"error_type":"OPERATION_NOT_FOUND"}`, 404, rest.NoSuchPath, true, "GET /api/cis/tagging/category: 404 Not Found"},
		"no such path":          {`404{"error_type":"NOT_FOUND","messages":[{"id":"com.vmware.vapi.rest.httpNotFound"}]}`, 404, rest.NoSuchPath, true, "GET /api/cis/tagging/category: 404 Not Found"},
		"a page with no path":   {`404<html>secret</html>`, 404, rest.NoSuchPath, true, "GET /api/cis/tagging/category: 404 Not Found"},
		"nothing that is known": {`418`, 418, rest.Unclassified, true, "GET /api/cis/tagging/category: 418 I'm a teapot"},
		"no list":               {`200{"a":"secret"}`, 0, rest.Unclassified, true, "GET /api/cis/tagging/category: the response is not from the vCenter's REST API"},
		"no JSON":               {`200<html>secret</html>`, 0, rest.Unclassified, true, "GET /api/cis/tagging/category: the response is not from the vCenter's REST API"},
		"cut off":               {`200["secret`, 0, rest.Unclassified, false, "GET /api/cis/tagging/category: reading the response: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, func(w http.ResponseWriter, path string) {
				w.Header().Set("Retry-After", "7")
				with(map[string]string{"GET": c.answer})(w, path)
			})
			err := readCategories(t.Context(), client)
			wrapped := fmt.Errorf("vCenter: %w", err)
			if err == nil || err.Error() != c.text || rest.Answered(wrapped) != c.answered || rest.ClassOf(wrapped) != c.class {
				t.Fatalf("%v, answered %v, class %v", err, rest.Answered(wrapped), rest.ClassOf(wrapped))
			}
			if rest.HasStatus(wrapped, c.status) != (c.status != 0) || rest.HasStatus(wrapped, 402) {
				t.Errorf("status %d is not known", c.status)
			}
			if got := rest.RetryAfter(wrapped); (got == 7*time.Second) != (c.status != 0) {
				t.Errorf("to be asked again after %v", got)
			}
		})
	}
	client, _ := serve(t, with(nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readCategories(ctx, client); rest.Answered(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("reading with a context that is done: error %v, want context.Canceled and no answer", err)
	}
}
