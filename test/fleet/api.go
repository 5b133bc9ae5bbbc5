package fleet

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// The simulator implements sessions and tagging below /rest only. vCenter 7.0 U2 and later also
// implement them below /api, with different paths, without an envelope around the response and
// with another error format. This file translates between the two.

const (
	apiSessionPath = "/api/session"
	apiTaggingPath = "/api/cis/tagging/"
	restCISPath    = "/rest/com/vmware/cis/"
	restTagging    = restCISPath + "tagging/"
)

// restForm translates a request to /api into the equivalent request to /rest. It reports
// whether it translated it.
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
			// /api has the category in the body, /rest in the path.
			var params struct {
				Category string `json:"category_id"`
			}
			_ = json.Unmarshal(body, &params) // an invalid body leaves the category empty
			path += "/id:" + params.Category
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

func apiForm(rest *http.Request, res *response) *response {
	if strings.Contains(res.header.Get("Content-Type"), "html") {
		// An HTML page comes from a proxy and stays as it is.
		return res
	}
	header := res.header.Clone()
	header.Set("Content-Type", "application/json")
	if res.status >= http.StatusBadRequest {
		var failure struct {
			Type  string `json:"type"`
			Value struct {
				Messages []any `json:"messages"`
			} `json:"value"`
		}
		failure.Value.Messages = []any{}
		_ = json.Unmarshal(res.body, &failure) // without a body the type is empty
		kind := cmp.Or(strings.ToUpper(failure.Type[strings.LastIndex(failure.Type, ".")+1:]), errorType(res.status))
		body, _ := json.Marshal(map[string]any{"error_type": kind, "messages": failure.Value.Messages})
		return &response{res.status, header, body}
	}
	var answer struct {
		Value json.RawMessage `json:"value"`
	}
	_ = json.Unmarshal(res.body, &answer) // without a body the value is nil
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
