package fleet

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25"
)

// spoiled are the sessions that answer nothing useful any more, by ID, with the HTTP status that
// they answer.
type spoiled struct {
	mu       sync.Mutex
	statuses map[string]int
}

// SpoilSessions has each session that is open now answer an HTTP status to everything, without a word
// of the session's end; others are well. A SOAP session answers 500 with a SystemError, a REST session
// 400 with a body that says unauthenticated. A status of 0 leaves the sessions of that API as they are.
// A logout ends a session all the same.
func (v *VCenter) SpoilSessions(soap, rest int) {
	v.spoiled.mu.Lock()
	if v.spoiled.statuses == nil {
		v.spoiled.statuses = make(map[string]int)
	}
	for _, id := range v.soapSessions() {
		v.spoiled.statuses[id] = soap
	}
	v.sessions.mu.Lock()
	for id := range maps.Keys(v.sessions.ids) {
		v.spoiled.statuses[id] = rest
	}
	v.sessions.mu.Unlock()
	v.spoiled.mu.Unlock()
	v.wake.notify()
}

// status returns what a request's session answers to everything, 0 if it is well.
func (s *spoiled) status(r *http.Request) int {
	id := r.Header.Get(restSessionHeader)
	if strings.HasPrefix(r.URL.Path, vim25.Path) {
		id = sessionOf(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statuses[id]
}

// answer is the answer to a request of a session with that status.
func (*spoiled) answer(r *http.Request, status int) *response {
	switch {
	case strings.HasPrefix(r.URL.Path, vim25.Path) && status == http.StatusInternalServerError:
		return soapFault("ServerFaultCode", "A general system error occurred", `<SystemErrorFault xmlns="urn:vim25" xsi:type="SystemError"><reason>session</reason></SystemErrorFault>`)
	case strings.HasPrefix(r.URL.Path, vim25.Path):
		return page(status)
	case status == http.StatusBadRequest:
		res := restError(status)
		res.body = []byte(`{"type":"com.vmware.vapi.std.errors.unauthenticated","value":{"messages":[]}}`)
		return res
	}
	return restError(status)
}
