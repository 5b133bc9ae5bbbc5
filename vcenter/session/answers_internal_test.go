package session

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

func answerOf(code int, body []byte) *http.Response {
	return &http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(body))}
}

// FuzzTicket checks that a ticket is read or an error does not contain it.
func FuzzTicket(f *testing.F) {
	f.Add(200, []byte(`{"token":"a-ticket"}`))
	f.Add(200, []byte(`{"token":["a-ticket"]}`))
	f.Add(401, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		res := answerOf(code, body)
		defer res.Body.Close()
		ticket, err := readTicket(res)
		if (err == nil) == (ticket.Reveal() == "") {
			t.Errorf("status %d, %q: a ticket of %d bytes, %v", code, body, len(ticket.Reveal()), err)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), "a-ticket")) {
			t.Errorf("status %d: the error has text of the answer: %q", code, err)
		}
	})
}

// FuzzAPIVersion checks that a version is read or an error does not contain the answer.
func FuzzAPIVersion(f *testing.F) {
	f.Add(200, []byte(`<namespaces version="1.0"><namespace><name>urn:vim25</name><version>8.0.3.0</version></namespace></namespaces>`))
	f.Add(200, []byte(`<a><a><a>`))
	f.Add(404, []byte(`none`))
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		res := answerOf(code, body)
		defer res.Body.Close()
		version, err := APIVersion(res)
		if (err == nil) == (version == "") {
			t.Errorf("status %d, %q: version %q, %v", code, body, version, err)
		}
	})
}
