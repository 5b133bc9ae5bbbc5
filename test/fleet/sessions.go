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

// sessions are the session IDs of clients. The simulator does not list REST sessions.
type sessions struct {
	mu     sync.Mutex
	rest   map[string]bool // open REST sessions
	issued map[string]bool // all IDs ever issued, SOAP and REST
}

// observe records successful logins, and logouts of REST sessions.
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

func decodeValue(res *response, into any) error {
	return json.Unmarshal(res.body, &struct {
		Value any `json:"value"`
	}{into})
}

func (v *VCenter) soapSessions() []string {
	reg := v.registry()
	// Only a session's view of the SessionManager contains the list.
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

// Sessions returns the number of open sessions, SOAP and REST together.
func (v *VCenter) Sessions() int { return v.SOAPSessions() + v.RESTSessions() }

// SOAPSessions returns the number of open SOAP sessions.
func (v *VCenter) SOAPSessions() int { return len(v.soapSessions()) }

// RESTSessions returns the number of open REST sessions.
func (v *VCenter) RESTSessions() int { return len(v.restSessions()) }

// SessionIDs returns all session IDs ever issued, SOAP and REST. An ID grants access while its
// session is open.
func (v *VCenter) SessionIDs() []string {
	v.sessions.mu.Lock()
	defer v.sessions.mu.Unlock()
	return slices.Sorted(maps.Keys(v.sessions.issued))
}

// internalRequest returns a request of this package to the simulator. It is neither counted nor
// delayed.
func (v *VCenter) internalRequest(method, path string) *http.Request {
	r, err := http.NewRequestWithContext(v.server.ctx, method, path, nil)
	if err != nil {
		panic(err) // the arguments are constant paths and IDs
	}
	return r
}

// EndSessions ends all sessions, as a restart of vCenter does. Long polls and the next call of
// each SOAP session fail with NotAuthenticated, the next call of each REST session with 401.
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

// SpoilSessions makes each currently open session fail every request, except a logout, with an HTTP
// status, but without an error that indicates the end of the session. New sessions work. SOAP
// status 500 comes with a SystemError, REST status 400 with an "unauthenticated" body. Status 0
// leaves the sessions of that API unchanged.
func (v *VCenter) SpoilSessions(soap, rest int) {
	statuses := map[string]int{}
	for _, id := range v.soapSessions() {
		statuses[id] = soap
	}
	for _, id := range v.restSessions() {
		statuses[id] = rest
	}
	v.set(func(c *conditions) { c.spoiledSessions = statuses })
}

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

func unauthenticated(status int) *response {
	res := restError(status)
	res.body = []byte(`{"type":"com.vmware.vapi.std.errors.unauthenticated","value":{"messages":[]}}`)
	return res
}
