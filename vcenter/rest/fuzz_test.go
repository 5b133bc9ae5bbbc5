package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRead checks that an unsuccessful status is a StatusError and no error quotes the body.
func FuzzRead(f *testing.F) {
	f.Add(200, "1", []byte(`[{"id":"a","tags":["b"]}]`), true)
	f.Add(200, "", []byte(`{"value":[{"id":"a"}]}`), false)
	f.Add(403, "", []byte(`{"type":"com.vmware.vapi.std.errors.unauthorized","value":{"messages":[]}}`), false)
	f.Add(400, "x", []byte(`{"error_type":"UNAUTHENTICATED","messages":[{"id":"com.vmware.vapi.rest.httpNotFound"}]}`), true)
	f.Add(503, "Fri, 02 Jan 2026 03:05:05 GMT", []byte(`<html>`), true)
	f.Fuzz(func(t *testing.T, code int, retry string, body []byte, isAPI bool) {
		const secret = "a-session-id"
		at := rest
		if isAPI {
			at = api
		}
		res := &http.Response{
			StatusCode: code, Header: http.Header{"Retry-After": {retry}}, Body: io.NopCloser(strings.NewReader(secret + string(body))),
			Request: httptest.NewRequest(http.MethodPost, "https://vc.example.com/api/session", nil),
		}
		var answer []struct {
			ID   string   `json:"id"`
			Tags []string `json:"tags"`
		}
		err := read(at, res, &answer, true)
		if status := new(StatusError); (code < 200 || code > 299) && !errors.As(err, &status) {
			t.Errorf("status %d: %v, want a StatusError", code, err)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), secret)) {
			t.Errorf("status %d: the error has text of the answer: %q", code, err)
		}
	})
}
