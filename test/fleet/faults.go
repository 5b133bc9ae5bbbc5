package fleet

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// conditions are the deviations of a vCenter from normal behavior. Their maps are replaced and
// never changed, so a copy is a snapshot.
type conditions struct {
	faults
	tagging
	password string
	// lostObjects are objects of sessions that the vCenter reports as nonexistent.
	lostObjects map[types.ManagedObjectReference]bool
	// blindSessions are the session IDs that cannot read any property. spoiledSessions maps session IDs to the
	// HTTP status of all their responses.
	blindSessions   map[string]bool
	spoiledSessions map[string]int
	// noRead are the objects on which the account lacks System.Read.
	noRead map[types.ManagedObjectReference]bool
}

type faults struct {
	logins
	hang, drop     bool
	delay          time.Duration // delay of every response
	firstPageDelay time.Duration // additional delay of the first response of a property collector
	delays         map[string]time.Duration
	soap           map[string]types.BaseMethodFault
	rest           map[string]int
	// oddResponses maps a kind of request to its unexpected response.
	oddResponses map[string]string
	// listFault is the fault of a ModifyListView with an inaccessible object. unlistable are
	// visible objects that no list view accepts.
	listFault  types.BaseMethodFault
	unlistable map[types.ManagedObjectReference]bool
	// maxPageSize is the maximum number of objects in a response to RetrievePropertiesEx.
	maxPageSize int32
}

type state struct {
	mu sync.Mutex
	conditions
}

func (v *VCenter) currentConditions() conditions {
	v.state.mu.Lock()
	defer v.state.mu.Unlock()
	return v.state.conditions
}

// set changes the conditions and wakes hanging and waiting requests.
func (v *VCenter) set(change func(c *conditions)) {
	v.state.mu.Lock()
	change(&v.state.conditions)
	v.state.mu.Unlock()
	v.wake.notify()
}

// withEntry returns a copy of m with key set to value. The zero value removes the key.
func withEntry[K, V comparable](m map[K]V, key K, value V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = make(map[K]V)
	}
	c[key] = value
	maps.DeleteFunc(c, func(_ K, v V) bool { return v == *new(V) })
	return c
}

func (f *faults) method(name string) types.BaseMethodFault {
	if fault, ok := f.soap[name]; ok {
		return fault
	}
	return f.soap["*"]
}

// status returns the HTTP status for a kind of request, or 0 for a normal response.
func (f *faults) status(kind string) int {
	if status, ok := f.rest[kind]; ok {
		return status
	}
	best := -1
	status := 0
	for pattern, s := range f.rest {
		prefix, ok := strings.CutSuffix(pattern, "*")
		rest := prefix != "" || strings.Contains(kind, " /") // "*" does not match SOAP methods
		if ok && rest && strings.HasPrefix(kind, prefix) && len(prefix) > best {
			best = len(prefix)
			status = s
		}
	}
	return status
}

// SetDelay delays every response.
func (v *VCenter) SetDelay(d time.Duration) { v.set(func(c *conditions) { c.delay = d }) }

// DelayMethod delays responses to one kind of request, as named by Requests, in addition to
// SetDelay.
func (v *VCenter) DelayMethod(kind string, d time.Duration) {
	v.set(func(c *conditions) { c.delays = withEntry(c.delays, kind, d) })
}

// DelayFirstPage delays the first response of each property collector, as if tens of thousands
// of objects had to be collected for it.
func (v *VCenter) DelayFirstPage(d time.Duration) {
	v.set(func(c *conditions) { c.firstPageDelay = d })
}

// Hang makes the vCenter accept connections and requests without responding, until Recover,
// Close or the end of the client. Requests in progress hang too; Recover responds to clients
// that still wait.
func (v *VCenter) Hang() { v.set(func(c *conditions) { c.hang = true }) }

// Refuse closes all connections and refuses new ones. The port stays reserved, and sessions stay
// open.
func (v *VCenter) Refuse() { v.server.stop() }

// Drop makes the vCenter close each connection in the middle of a response.
func (v *VCenter) Drop() { v.set(func(c *conditions) { c.drop = true }) }

// Fault makes a SOAP method fail with a fault; "*" is every method without its own fault. A nil
// fault removes it.
func (v *VCenter) Fault(method string, fault types.BaseMethodFault) {
	v.set(func(c *conditions) { c.soap = withEntry(c.soap, method, fault) })
}

// FaultREST sets the HTTP status of a kind of request, as named by Requests; status 0 removes it.
// A kind that ends in "*" is a prefix, of which the longest match applies; "*" is every REST
// request. The name of a SOAP method also works: the response is then the bare status, as from a
// proxy in front of vCenter. Status 404 is vAPI's response while it starts and has no services
// yet.
func (v *VCenter) FaultREST(kind string, status int) {
	v.set(func(c *conditions) { c.rest = withEntry(c.rest, kind, status) })
}

// RejectPassword rejects every login. Open sessions stay.
func (v *VCenter) RejectPassword() { v.set(func(c *conditions) { c.reject = true }) }

// SetPassword changes the account's password. Open sessions stay, and Recover does not restore
// the old one.
func (v *VCenter) SetPassword(p string) { v.set(func(c *conditions) { c.password = p }) }

// Recover undoes SetDelay, DelayMethod, DelayFirstPage, Hang, Refuse, Drop, Fault, FaultREST,
// AnswerOddly, FaultListing, RejectListing, LimitPages, RejectPassword, RejectRESTLogin, SlowLogin
// and SetLockout. The port stays the same.
func (v *VCenter) Recover() error {
	v.set(func(c *conditions) { c.faults = faults{} })
	return v.server.start()
}

// The unexpected responses of AnswerOddly.
const (
	// OddEmpty is HTTP 200 with a SOAP envelope whose body is empty.
	OddEmpty = "empty"
	// OddNothing is an immediate response to WaitForUpdatesEx without a change.
	OddNothing = "nothing"
	// OddGarbage is HTTP 200 with an HTML page.
	OddGarbage = "garbage"
)

var oddBodies = map[string]string{
	OddEmpty: `<?xml version="1.0" encoding="UTF-8"?>` +
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body></soapenv:Body></soapenv:Envelope>`,
	OddNothing: `<?xml version="1.0" encoding="UTF-8"?>` +
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` +
		`<WaitForUpdatesExResponse xmlns="urn:vim25"></WaitForUpdatesExResponse></soapenv:Body></soapenv:Envelope>`,
	OddGarbage: "<html><body>It works!</body></html>",
}

// AnswerOddly makes a kind of request, as named by Requests, return status 200 with an unexpected
// body: OddEmpty, OddNothing or OddGarbage.
func (v *VCenter) AnswerOddly(kind, how string) error {
	if oddBodies[how] == "" {
		return fmt.Errorf("fleet: vCenter %q cannot answer in the way %q", v.name, how)
	}
	v.set(func(c *conditions) { c.oddResponses = withEntry(c.oddResponses, kind, how) })
	return nil
}

func (f *faults) oddAnswer(kind string) *response {
	how, ok := f.oddResponses[kind]
	if !ok {
		return nil
	}
	return &response{http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, []byte(oddBodies[how])}
}
