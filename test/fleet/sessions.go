package fleet

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
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

// sessions are the IDs of the sessions of clients. The simulator does not list those of REST.
type sessions struct {
	mu     sync.Mutex
	rest   map[string]bool // open REST sessions
	issued map[string]bool // all IDs ever given out, SOAP and REST
}

// observe notes the logins that succeed, and the logouts of REST.
func (s *sessions) observe(r *http.Request, res *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range (&http.Response{Header: res.header}).Cookies() {
		if c.Name == soap.SessionCookieName && c.Value != "" {
			s.issued[c.Value] = true
		}
	}
	if r.URL.Path != restSessionPath || r.URL.RawQuery != "" || res.status != http.StatusOK {
		return
	}
	switch r.Method {
	case http.MethodPost:
		var id string
		if decodeValue(res, &id) == nil {
			s.rest[id] = true
			s.issued[id] = true
		}
	case http.MethodDelete:
		delete(s.rest, sessionOf(r))
	}
}

// sessionOf returns the ID of a request's session, "" for none.
func sessionOf(r *http.Request) string {
	name := soap.SessionCookieName
	if !strings.HasPrefix(r.URL.Path, vim25.Path) {
		if id := r.Header.Get(restSessionHeader); id != "" {
			return id
		}
		name = restSessionHeader
	}
	if c, err := r.Cookie(name); err == nil {
		return c.Value
	}
	return ""
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

func (v *VCenter) restSessions() []string {
	v.sessions.mu.Lock()
	defer v.sessions.mu.Unlock()
	return slices.Collect(maps.Keys(v.sessions.rest))
}

// Sessions returns how many sessions are open, SOAP and REST together.
func (v *VCenter) Sessions() int { return v.SOAPSessions() + v.RESTSessions() }

// SOAPSessions returns how many SOAP sessions are open.
func (v *VCenter) SOAPSessions() int { return len(v.soapSessions()) }

// RESTSessions returns how many REST sessions are open.
func (v *VCenter) RESTSessions() int { return len(v.restSessions()) }

// SessionIDs returns the IDs of all sessions that there have ever been, SOAP and
// REST. Whoever has one is logged in, as long as the session lasts.
func (v *VCenter) SessionIDs() []string {
	v.sessions.mu.Lock()
	defer v.sessions.mu.Unlock()
	return slices.Sorted(maps.Keys(v.sessions.issued))
}

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
		v.owned.forget(id)
	}
	for _, id := range v.restSessions() {
		r := v.internalRequest(http.MethodDelete, restSessionPath)
		r.Header.Set(restSessionHeader, id)
		v.sessions.observe(r, v.simulated(r, nil))
	}
	v.world.Unlock()
	v.wake.notify()
}

// SpoilSessions has each session that is open now answer an HTTP status to everything, without a word
// of the session's end; others are well. A SOAP session answers 500 with a SystemError, a REST session
// 400 with a body that says unauthenticated. A status of 0 leaves the sessions of that API as they are.
// A logout ends a session all the same.
func (v *VCenter) SpoilSessions(soap, rest int) {
	statuses := map[string]int{}
	for _, id := range v.soapSessions() {
		statuses[id] = soap
	}
	for _, id := range v.restSessions() {
		statuses[id] = rest
	}
	v.set(func(c *conditions) { c.spoiled = statuses })
}

// spoiledAnswer is the answer to a request of a session that answers everything with a status.
func spoiledAnswer(r *http.Request, status int) *response {
	switch {
	case strings.HasPrefix(r.URL.Path, vim25.Path) && status == http.StatusInternalServerError:
		return soapFault("ServerFaultCode", "A general system error occurred", `<SystemErrorFault xmlns="urn:vim25" xsi:type="SystemError"><reason>session</reason></SystemErrorFault>`)
	case strings.HasPrefix(r.URL.Path, vim25.Path):
		return page(status)
	case status == http.StatusBadRequest:
		return unauthenticated(status)
	}
	return restError(status)
}

// unauthenticated is an answer that says so, whatever its status.
func unauthenticated(status int) *response {
	res := restError(status)
	res.body = []byte(`{"type":"com.vmware.vapi.std.errors.unauthenticated","value":{"messages":[]}}`)
	return res
}
