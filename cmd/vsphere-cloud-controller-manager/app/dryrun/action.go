package dryrun

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// An action is what a write of a Node has in common with its repetitions: its method, its path, and
// which parts of the Node a patch is about. The rest differs, such as times and resource versions.
type action struct{ method, path, parts string }

func actionOf(r *http.Request, body []byte) action {
	return action{r.Method, r.URL.Path, partsOf(body)}
}

// partsOf returns the parts of a Node that a patch has, such as metadata.labels, empty for what is
// not a JSON object of objects: an update has the whole Node.
func partsOf(body []byte) string {
	var patch map[string]map[string]json.RawMessage
	if json.Unmarshal(body, &patch) != nil {
		return ""
	}
	var parts []string
	for outer, of := range patch {
		for inner := range of {
			parts = append(parts, outer+"."+inner)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
