package fleet

import (
	"bytes"
	"encoding/xml"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25"
)

type requests struct {
	mu     sync.Mutex
	counts map[string]int
	total  int
	bytes  int64
}

func (r *requests) sent(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += int64(n)
}

func (r *requests) count(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = make(map[string]int)
	}
	r.counts[kind]++
	r.total++
}

// Requests returns the number of requests of each kind since the start or the last reset,
// including unanswered ones. The kind of a SOAP request is its method, such as
// "RetrievePropertiesEx". The kind of a REST request, whether to /rest or /api, is its method and
// its path below /rest, with IDs folded and the action kept:
//
//	GET /com/vmware/cis/tagging/tag/id:{id}
//	POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects
func (v *VCenter) Requests() map[string]int {
	v.requests.mu.Lock()
	defer v.requests.mu.Unlock()
	return maps.Clone(v.requests.counts)
}

// Total returns the number of requests since the start or the last reset.
func (v *VCenter) Total() int {
	v.requests.mu.Lock()
	defer v.requests.mu.Unlock()
	return v.requests.total
}

// Bytes returns the size of all response bodies since the start or the last reset.
func (v *VCenter) Bytes() int64 {
	v.requests.mu.Lock()
	defer v.requests.mu.Unlock()
	return v.requests.bytes
}

// ResetRequests resets the counts and the peaks of the load.
func (v *VCenter) ResetRequests() {
	v.peaks.reset()
	v.requests.mu.Lock()
	defer v.requests.mu.Unlock()
	v.requests.counts = nil
	v.requests.total = 0
	v.requests.bytes = 0
}

var pathID = regexp.MustCompile(`/id:[^/]+`)

func kindOf(r *http.Request, body []byte) (kind, method string) {
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, vim25.Path) {
		if method = soapMethod(body); method != "" {
			return method, method
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/rest")
	kind = r.Method + " " + pathID.ReplaceAllString(path, "/id:{id}")
	if action := r.URL.Query().Get("~action"); action != "" {
		kind += "?~action=" + action
	}
	return kind, ""
}

// soapMethod returns the name of the first element in the body of a SOAP envelope, or "".
func soapMethod(body []byte) string {
	dec := xml.NewDecoder(bytes.NewReader(body))
	inBody := false
	for {
		tok, err := dec.Token()
		if err != nil {
			return ""
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if inBody {
			return start.Name.Local
		}
		inBody = start.Name.Local == "Body"
	}
}
