package fleet

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// The simulator serves sessions and tags below /rest only. vCenters from 7.0 U2
// serve them below /api too, with other paths, no envelope around an answer and
// errors of another form; this file translates between the two.

const (
	apiSessionPath = "/api/session"
	apiTaggingPath = "/api/cis/tagging/"
	restCISPath    = "/rest/com/vmware/cis/"
	restTagging    = restCISPath + "tagging/"
)

// restForm returns a request to /api as the one to /rest that means the same, and
// reports whether it was one.
func restForm(r *http.Request, body []byte) (*http.Request, bool) {
	path := ""
	below, isTagging := strings.CutPrefix(r.URL.Path, apiTaggingPath)
	switch {
	case r.URL.Path == apiSessionPath:
		path = restSessionPath
	case isTagging:
		resource, id, ok := strings.Cut(below, "/")
		if path = restTagging + resource; ok {
			path += "/id:" + id
		} else if r.URL.Query().Get("action") == "list-tags-for-category" {
			// Which category is in the body here, and in the path there.
			var of struct {
				Category string `json:"category_id"`
			}
			_ = json.Unmarshal(body, &of) // none is not there
			path += "/id:" + of.Category
		}
	default:
		return r, false
	}
	rest := r.Clone(r.Context())
	rest.URL.Path = path
	rest.URL.RawPath = ""
	query := rest.URL.Query()
	if action := query.Get("action"); action != "" {
		query.Del("action")
		query.Set("~action", action)
		rest.URL.RawQuery = query.Encode()
	}
	return rest, true
}

// apiForm returns the answer to a request in the form that /api gives it.
func apiForm(rest *http.Request, res *response) *response {
	if strings.Contains(res.header.Get("Content-Type"), "html") {
		// An HTML page is no response of the API.
		return res
	}
	header := res.header.Clone()
	header.Set("Content-Type", "application/json")
	if res.status >= http.StatusBadRequest {
		var of struct {
			Type  string `json:"type"`
			Value struct {
				Messages []any `json:"messages"`
			} `json:"value"`
		}
		of.Value.Messages = []any{}
		_ = json.Unmarshal(res.body, &of) // no body has no type
		kind := cmp.Or(strings.ToUpper(of.Type[strings.LastIndex(of.Type, ".")+1:]), errorType(res.status))
		body, _ := json.Marshal(map[string]any{"error_type": kind, "messages": of.Value.Messages})
		return &response{res.status, header, body}
	}
	var answer struct {
		Value json.RawMessage `json:"value"`
	}
	_ = json.Unmarshal(res.body, &answer) // no body is no value
	switch {
	case rest.URL.Path == restSessionPath && rest.Method == http.MethodPost && rest.URL.RawQuery == "":
		return &response{http.StatusCreated, header, answer.Value}
	case rest.Method == http.MethodDelete:
		return &response{http.StatusNoContent, header, nil}
	case answer.Value == nil && rest.Method == http.MethodGet, answer.Value == nil && strings.Contains(rest.URL.RawQuery, "list-"):
		answer.Value = json.RawMessage("[]") // the simulator omits an empty list
	}
	return &response{res.status, header, answer.Value}
}

func errorType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "UNAUTHORIZED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusServiceUnavailable:
		return "SERVICE_UNAVAILABLE"
	}
	return "ERROR"
}
