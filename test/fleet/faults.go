package fleet

import (
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// faults are the faults of a vCenter now.
type faults struct {
	mu       sync.Mutex
	password string
	reject   bool
	delay    time.Duration
	hang     bool
	drop     bool
	soap     map[string]types.BaseMethodFault
	rest     map[string]int
	logins   logins

	// delays are those of single kinds of request; first is that of the first
	// answer of a property collector.
	delays map[string]time.Duration
	first  time.Duration
	// odd are the kinds of request with unexpected responses, and which.
	odd map[string]string
	// listing is the fault of a list view that may not have all objects; unlisted
	// are objects that none may have although they can be seen.
	listing  types.BaseMethodFault
	unlisted map[types.ManagedObjectReference]bool
	// pages is how many objects an answer to RetrievePropertiesEx has at most.
	pages int32
	// noProperty is a property path that the vCenter does not take; late says that it
	// does not say so at once, but in the place of the property.
	noProperty string
	late       bool
}

// setFault changes the faults, and wakes the requests that hang or wait.
func (v *VCenter) setFault(change func(f *faults)) {
	v.faults.mu.Lock()
	change(&v.faults)
	v.faults.mu.Unlock()
	v.wake.notify()
}

func (f *faults) accepts(password string) bool { return f.acceptsOneOf(password, "") }

// acceptsOneOf is for an account whose password is own, or the vCenter's if that is empty.
func (f *faults) acceptsOneOf(password, own string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if own == "" {
		own = f.password
	}
	return f.logins.accepts(!f.reject && password == own, time.Now())
}

func (f *faults) currentPassword() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.password
}

func (f *faults) now() (hang, drop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hang, f.drop
}

// delayed returns how much longer an answer takes.
func (f *faults) delayed(kind string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.delay + f.delays[kind]
}

// method returns the fault that a SOAP method is to answer with, or nil.
func (f *faults) method(name string) types.BaseMethodFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault, ok := f.soap[name]; ok {
		return fault
	}
	return f.soap["*"]
}

// status returns the HTTP status that a kind of request is to answer with, or 0.
func (f *faults) status(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if status, ok := f.rest[kind]; ok {
		return status
	}
	best, status := -1, 0
	for pattern, s := range f.rest {
		prefix, ok := strings.CutSuffix(pattern, "*")
		rest := prefix != "" || strings.Contains(kind, " /") // "*" leaves SOAP alone
		if ok && rest && strings.HasPrefix(kind, prefix) && len(prefix) > best {
			best, status = len(prefix), s
		}
	}
	return status
}

// SetDelay lets every request wait before it is answered.
func (v *VCenter) SetDelay(d time.Duration) { v.setFault(func(f *faults) { f.delay = d }) }

// Hang makes the vCenter accept connections and requests, and answer none,
// until Recover or Close, or until the client goes. Requests that are being
// answered hang too; Recover answers those whose client still waits.
func (v *VCenter) Hang() { v.setFault(func(f *faults) { f.hang = true }) }

// Refuse breaks all connections and refuses new ones. The port stays reserved,
// and sessions stay open.
func (v *VCenter) Refuse() { v.server.stop() }

// Drop makes the vCenter break each connection in the middle of an answer.
func (v *VCenter) Drop() { v.setFault(func(f *faults) { f.drop = true }) }

// Fault makes a SOAP method answer with a fault; "*" means every method that has
// no fault of its own. A nil fault removes it.
func (v *VCenter) Fault(method string, fault types.BaseMethodFault) {
	v.setFault(func(f *faults) {
		if f.soap == nil {
			f.soap = make(map[string]types.BaseMethodFault)
		}
		if f.soap[method] = fault; fault == nil {
			delete(f.soap, method)
		}
	})
}

// FaultREST makes a kind of request, as Requests names it, answer with an HTTP
// status. A kind that ends in "*" is a prefix, the longest one counts; "*" means
// every REST request. The name of a SOAP method is a kind too: it then answers
// with the bare status, as a proxy in front of vCenter does. Status 0 removes
// it.
func (v *VCenter) FaultREST(kind string, status int) {
	v.setFault(func(f *faults) {
		if f.rest == nil {
			f.rest = make(map[string]int)
		}
		if f.rest[kind] = status; status == 0 {
			delete(f.rest, kind)
		}
	})
}

// RejectPassword refuses every login. Open sessions stay.
func (v *VCenter) RejectPassword() { v.setFault(func(f *faults) { f.reject = true }) }

// SetPassword changes the account's password. Open sessions stay, and Recover
// does not take it back.
func (v *VCenter) SetPassword(p string) { v.setFault(func(f *faults) { f.password = p }) }

// Recover undoes SetDelay, DelayMethod, DelayFirstPage, Hang, Refuse, Drop, Fault,
// FaultREST, AnswerOddly, FaultListing, RefuseListing, LimitPages, RejectPassword,
// RejectRESTLogin, SlowLogin and SetLockout. The vCenter listens on the same port
// again.
func (v *VCenter) Recover() error {
	v.setFault(func(f *faults) {
		f.reject, f.delay, f.hang, f.drop, f.soap, f.rest = false, 0, false, false, nil, nil
		f.logins = logins{}
		f.delays, f.first, f.odd, f.listing, f.unlisted, f.pages = nil, 0, nil, nil, nil, 0
		f.noProperty, f.late = "", false
	})
	return v.server.start()
}
