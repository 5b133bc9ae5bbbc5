package fleet

import (
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/soap"
)

// issued are the session IDs that a vCenter has ever given out. Whoever has one
// is logged in, as long as the session lasts.
type issued struct {
	mu  sync.Mutex
	ids map[string]bool
}

// observe notes the IDs in the answer to a login: in a cookie, or for REST in
// the body.
func (i *issued) observe(r *http.Request, res *response) {
	for _, c := range (&http.Response{Header: res.header}).Cookies() {
		if c.Name == soap.SessionCookieName || c.Name == restSessionHeader {
			i.note(c.Value)
		}
	}
	var id string
	if r.Method == http.MethodPost && r.URL.Path == restSessionPath && res.status == http.StatusOK && decodeValue(res, &id) == nil {
		i.note(id)
	}
}

func (i *issued) note(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ids == nil {
		i.ids = make(map[string]bool)
	}
	if id != "" {
		i.ids[id] = true
	}
}

// SessionIDs returns the IDs of all sessions that there have ever been, SOAP and
// REST.
func (v *VCenter) SessionIDs() []string {
	v.issued.mu.Lock()
	defer v.issued.mu.Unlock()
	return slices.Sorted(maps.Keys(v.issued.ids))
}
