package fleet

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	restSessionPath   = "/rest/com/vmware/cis/session"
	restSessionHeader = "vmware-api-session-id"
)

// restSessions are the IDs of the REST sessions of clients. The simulator does
// not list them.
type restSessions struct {
	mu  sync.Mutex
	ids map[string]bool
}

// observe notes the REST logins and logouts that succeed.
func (s *restSessions) observe(r *http.Request, res *response) {
	if r.URL.Path != restSessionPath || r.URL.RawQuery != "" || res.status != http.StatusOK {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		var id string
		if decodeValue(res, &id) == nil {
			if s.ids == nil {
				s.ids = make(map[string]bool)
			}
			s.ids[id] = true
		}
	case http.MethodDelete:
		id := r.Header.Get(restSessionHeader)
		if c, err := r.Cookie(restSessionHeader); id == "" && err == nil {
			id = c.Value
		}
		delete(s.ids, id)
	}
}

// take returns the IDs and forgets them.
func (s *restSessions) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Collect(maps.Keys(s.ids))
	s.ids = nil
	return ids
}

func (s *restSessions) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// decodeValue reads the answer of a REST request.
func decodeValue(res *response, into any) error {
	return json.Unmarshal(res.body, &struct {
		Value any `json:"value"`
	}{into})
}

// soapSessions returns the IDs of the SOAP sessions.
func (v *VCenter) soapSessions() []string {
	reg := v.registry()
	// Only a session's view of the SessionManager has the list.
	view := &simulator.Session{Registry: simulator.NewRegistry(), Map: reg}
	var ids []string
	for _, s := range view.Get(reg.SessionManager().Self).(*simulator.SessionManager).SessionList {
		ids = append(ids, s.Key)
	}
	return ids
}

// Sessions returns how many sessions are open, SOAP and REST together.
func (v *VCenter) Sessions() int { return v.SOAPSessions() + v.RESTSessions() }

// SOAPSessions returns how many SOAP sessions are open.
func (v *VCenter) SOAPSessions() int { return len(v.soapSessions()) }

// RESTSessions returns how many REST sessions are open.
func (v *VCenter) RESTSessions() int { return v.sessions.len() }

// internalRequest makes a request of this package's own to the simulator, which is
// neither counted nor kept up.
func (v *VCenter) internalRequest(method, path string) *http.Request {
	r, err := http.NewRequestWithContext(v.server.ctx, method, path, nil)
	if err != nil {
		panic(err) // only constant paths and IDs come here
	}
	return r
}

// EndSessions ends all sessions, as a restart of vCenter does: long polls and
// the next call of each SOAP session are NotAuthenticated, that of each REST
// session 401.
func (v *VCenter) EndSessions() {
	v.world.Lock()
	logout := encode(operationInternal, &methods.LogoutBody{Req: &types.Logout{This: v.registry().SessionManager().Self}})
	for _, id := range v.soapSessions() {
		r := v.internalRequest(http.MethodPost, vim25.Path)
		r.AddCookie(&http.Cookie{Name: soap.SessionCookieName, Value: id})
		v.simulated(r, logout)
		v.disown(id)
	}
	for _, id := range v.sessions.take() {
		r := v.internalRequest(http.MethodDelete, restSessionPath)
		r.Header.Set(restSessionHeader, id)
		v.simulated(r, nil)
	}
	v.world.Unlock()
	v.wake.notify()
}
