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

// conditions are what is different about a vCenter now. Their maps are replaced, never
// changed, so that a copy stays as it is.
type conditions struct {
	faults
	tagging
	password string
	// gone are objects of sessions that are answered for as if they did not exist.
	gone map[types.ManagedObjectReference]bool
	// blind are the sessions that may not read any property, and spoiled those that answer
	// everything with an HTTP status.
	blind   map[string]bool
	spoiled map[string]int
	// noRead are the objects on which the account lacks System.Read.
	noRead map[types.ManagedObjectReference]bool
}

// faults are the conditions that Recover undoes.
type faults struct {
	logins
	hang, drop bool
	delay      time.Duration // delay of every response
	first      time.Duration // additional delay of the first response of a property collector
	delays     map[string]time.Duration
	soap       map[string]types.BaseMethodFault
	rest       map[string]int
	// odd are the kinds of request with unexpected responses, and which.
	odd map[string]string
	// listing is the fault of a list view that may not have all objects; unlisted
	// are objects that none may have although they can be seen.
	listing  types.BaseMethodFault
	unlisted map[types.ManagedObjectReference]bool
	// pages is how many objects an answer to RetrievePropertiesEx has at most.
	pages int32
}

// state guards the conditions.
type state struct {
	mu sync.Mutex
	conditions
}

// now returns the conditions as they are.
func (v *VCenter) now() conditions {
	v.state.mu.Lock()
	defer v.state.mu.Unlock()
	return v.state.conditions
}

// set changes the conditions, and wakes the requests that hang or wait.
func (v *VCenter) set(change func(c *conditions)) {
	v.state.mu.Lock()
	change(&v.state.conditions)
	v.state.mu.Unlock()
	v.wake.notify()
}

// with returns a copy of a map with another value of a key, without the key for the zero value.
func with[K, V comparable](m map[K]V, key K, value V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = make(map[K]V)
	}
	c[key] = value
	maps.DeleteFunc(c, func(_ K, v V) bool { return v == *new(V) })
	return c
}

// method returns the fault that a SOAP method is to answer with, or nil.
func (f *faults) method(name string) types.BaseMethodFault {
	if fault, ok := f.soap[name]; ok {
		return fault
	}
	return f.soap["*"]
}

// status returns the HTTP status that a kind of request is to answer with, or 0.
func (f *faults) status(kind string) int {
	if status, ok := f.rest[kind]; ok {
		return status
	}
	best := -1
	status := 0
	for pattern, s := range f.rest {
		prefix, ok := strings.CutSuffix(pattern, "*")
		rest := prefix != "" || strings.Contains(kind, " /") // "*" leaves SOAP alone
		if ok && rest && strings.HasPrefix(kind, prefix) && len(prefix) > best {
			best = len(prefix)
			status = s
		}
	}
	return status
}

// SetDelay lets every request wait before it is answered.
func (v *VCenter) SetDelay(d time.Duration) { v.set(func(c *conditions) { c.delay = d }) }

// DelayMethod lets requests of one kind, as Requests names it, wait before they are
// answered, longer than SetDelay has others wait.
func (v *VCenter) DelayMethod(kind string, d time.Duration) {
	v.set(func(c *conditions) { c.delays = with(c.delays, kind, d) })
}

// DelayFirstPage lets the first answer of each property collector take longer, as
// where tens of thousands of objects have to be collected for it.
func (v *VCenter) DelayFirstPage(d time.Duration) { v.set(func(c *conditions) { c.first = d }) }

// Hang makes the vCenter accept connections and requests, and answer none,
// until Recover or Close, or until the client goes. Requests that are being
// answered hang too; Recover answers those whose client still waits.
func (v *VCenter) Hang() { v.set(func(c *conditions) { c.hang = true }) }

// Refuse breaks all connections and refuses new ones. The port stays reserved,
// and sessions stay open.
func (v *VCenter) Refuse() { v.server.stop() }

// Drop makes the vCenter break each connection in the middle of an answer.
func (v *VCenter) Drop() { v.set(func(c *conditions) { c.drop = true }) }

// Fault makes a SOAP method answer with a fault; "*" means every method that has
// no fault of its own. A nil fault removes it.
func (v *VCenter) Fault(method string, fault types.BaseMethodFault) {
	v.set(func(c *conditions) { c.soap = with(c.soap, method, fault) })
}

// FaultREST makes a kind of request, as Requests names it, answer with an HTTP
// status. A kind that ends in "*" is a prefix, the longest one counts; "*" means
// every REST request. The name of a SOAP method is a kind too: it then answers
// with the bare status, as a proxy in front of vCenter does. Status 404 is vAPI's
// that serves nothing yet, as while it starts. Status 0 removes it.
func (v *VCenter) FaultREST(kind string, status int) {
	v.set(func(c *conditions) { c.rest = with(c.rest, kind, status) })
}

// RejectPassword refuses every login. Open sessions stay.
func (v *VCenter) RejectPassword() { v.set(func(c *conditions) { c.reject = true }) }

// SetPassword changes the account's password. Open sessions stay, and Recover
// does not take it back.
func (v *VCenter) SetPassword(p string) { v.set(func(c *conditions) { c.password = p }) }

// Recover undoes SetDelay, DelayMethod, DelayFirstPage, Hang, Refuse, Drop, Fault,
// FaultREST, AnswerOddly, FaultListing, RefuseListing, LimitPages, RejectPassword,
// RejectRESTLogin, SlowLogin and SetLockout. The vCenter listens on the same port
// again.
func (v *VCenter) Recover() error {
	v.set(func(c *conditions) { c.faults = faults{} })
	return v.server.start()
}

// The unexpected responses of AnswerOddly.
const (
	// OddEmpty is HTTP 200 with a SOAP envelope whose body has nothing in it.
	OddEmpty = "empty"
	// OddNothing is the answer of a WaitForUpdatesEx without a change, at once.
	OddNothing = "nothing"
	// OddGarbage is HTTP 200 with a page of HTML.
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

// AnswerOddly lets a kind of request, as Requests names it, answer with status 200
// and what no client expects: OddEmpty, OddNothing or OddGarbage.
func (v *VCenter) AnswerOddly(kind, how string) error {
	if oddBodies[how] == "" {
		return fmt.Errorf("fleet: vCenter %q cannot answer in the way %q", v.name, how)
	}
	v.set(func(c *conditions) { c.odd = with(c.odd, kind, how) })
	return nil
}

// oddAnswer returns the unexpected response to a kind of request, nil if there is none.
func (f *faults) oddAnswer(kind string) *response {
	how, ok := f.odd[kind]
	if !ok {
		return nil
	}
	return &response{http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, []byte(oddBodies[how])}
}
