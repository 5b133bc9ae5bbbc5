package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

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
	v.setFault(func(f *faults) {
		if f.odd == nil {
			f.odd = make(map[string]string)
		}
		f.odd[kind] = how
	})
	return nil
}

// oddAnswer returns the unexpected response to a kind of request, nil if there is none.
func (f *faults) oddAnswer(kind string) *response {
	f.mu.Lock()
	defer f.mu.Unlock()
	how, ok := f.odd[kind]
	if !ok {
		return nil
	}
	return &response{http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, []byte(oddBodies[how])}
}

// DelayMethod lets requests of one kind, as Requests names it, wait before they are
// answered, longer than SetDelay has others wait.
func (v *VCenter) DelayMethod(kind string, d time.Duration) {
	v.setFault(func(f *faults) {
		if f.delays == nil {
			f.delays = make(map[string]time.Duration)
		}
		f.delays[kind] = d
	})
}

// DelayFirstPage lets the first answer of each property collector take longer, as
// where tens of thousands of objects have to be collected for it.
func (v *VCenter) DelayFirstPage(d time.Duration) { v.setFault(func(f *faults) { f.first = d }) }

func (f *faults) firstPageDelay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// FaultListing lets a ModifyListView that adds an object which the list view cannot
// have, since the account may not see it or it does not exist, fail as a whole.
// Otherwise such objects come back as unresolved.
func (v *VCenter) FaultListing(fault types.BaseMethodFault) {
	v.setFault(func(f *faults) { f.listing = fault })
}

// RefuseListing keeps an object out of all list views, although it can be seen.
func (v *VCenter) RefuseListing(object string) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	v.setFault(func(f *faults) {
		if f.unlisted == nil {
			f.unlisted = make(map[types.ManagedObjectReference]bool)
		}
		f.unlisted[ref] = true
	})
	return nil
}

// RefuseProperty has the vCenter not take a property path, as where the property is
// newer than it is. It answers InvalidProperty to the request, or late: in the place of
// the property.
func (v *VCenter) RefuseProperty(path string, late bool) {
	v.setFault(func(f *faults) { f.noProperty, f.late = path, late })
}

// missingPath is the property path that is missing in answers.
func (f *faults) missingPath() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.late {
		return ""
	}
	return f.noProperty
}

// refuses returns the fault of a request that names the property path of RefuseProperty.
func (f *faults) refuses(m *simulator.Method) types.BaseMethodFault {
	f.mu.Lock()
	path, late := f.noProperty, f.late
	f.mu.Unlock()
	if path == "" || late {
		return nil
	}
	for _, spec := range filterSpecs(m) {
		for _, p := range spec.PropSet {
			if slices.Contains(p.PathSet, path) {
				return &types.InvalidProperty{Name: path}
			}
		}
	}
	return nil
}

// modifyList answers a ModifyListView. The simulator would add what it does not
// have.
func (v *VCenter) modifyList(r *http.Request, body []byte) *response {
	m, err := decode(body)
	if err != nil {
		return v.simulated(r, body)
	}
	req, ok := m.Body.(*types.ModifyListView)
	if !ok {
		return v.simulated(r, body)
	}
	v.faults.mu.Lock()
	whole, unlisted := v.faults.listing, v.faults.unlisted
	refused := slices.DeleteFunc(slices.Clone(req.Add), func(ref types.ManagedObjectReference) bool {
		return !unlisted[ref] && v.registry().Get(ref) != nil
	})
	v.faults.mu.Unlock()
	if len(refused) == 0 {
		return v.simulated(r, body)
	}
	if whole != nil {
		return v.simulated(r, encode(operationListing, &methods.ModifyListViewBody{Req: req}))
	}
	req.Add = slices.DeleteFunc(req.Add, func(ref types.ManagedObjectReference) bool { return slices.Contains(refused, ref) })
	res := v.simulated(r, encode("", &methods.ModifyListViewBody{Req: req}))
	var answer methods.ModifyListViewBody
	if err := open(res, &answer); err != nil || answer.Res == nil {
		return res
	}
	answer.Res.Returnval = append(answer.Res.Returnval, refused...)
	return &response{res.status, res.header, encode("", &answer)}
}

func (f *faults) listingFault() types.BaseMethodFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listing
}
