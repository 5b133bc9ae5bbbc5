package fleet

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// owned are the objects that sessions have made for themselves: views, collectors
// and filters.
type owned struct {
	mu  sync.Mutex
	all map[string][]types.ManagedObjectReference // by session
	// gone are those that are answered for as if they did not exist.
	gone map[types.ManagedObjectReference]bool
	// blind are the sessions that may not read any property.
	blind map[string]bool
}

var returned = regexp.MustCompile(`<returnval[^>]* type="([A-Za-z]+)"[^>]*>([^<]+)</returnval>`)

func sessionOf(r *http.Request) string {
	c, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return ""
	}
	return c.Value
}

// own notes what a request has made or destroyed.
func (v *VCenter) own(r *http.Request, method string, body []byte, res *response) {
	if res.status != http.StatusOK {
		return
	}
	session := sessionOf(r)
	switch {
	case method == "Logout":
		v.disown(session)
	case strings.HasPrefix(method, "Create"):
		if found := returned.FindSubmatch(res.body); found != nil {
			v.owned.add(session, types.ManagedObjectReference{Type: string(found[1]), Value: string(found[2])})
		}
	case strings.HasPrefix(method, "Destroy"):
		if m, err := decode(body); err == nil {
			v.owned.remove(session, m.This)
		}
	}
}

func (o *owned) add(session string, ref types.ManagedObjectReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[string][]types.ManagedObjectReference)
	}
	o.all[session] = append(o.all[session], ref)
}

func (o *owned) remove(session string, ref types.ManagedObjectReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[session] = slices.DeleteFunc(o.all[session], func(r types.ManagedObjectReference) bool { return r == ref })
}

// disown forgets what a session has made, which ends with it.
func (v *VCenter) disown(session string) {
	v.owned.mu.Lock()
	delete(v.owned.all, session)
	delete(v.owned.blind, session)
	v.owned.mu.Unlock()
}

// Owned returns how many objects of a type, such as ContainerView, the open sessions
// have made and not destroyed.
func (v *VCenter) Owned(kind string) int {
	v.owned.mu.Lock()
	defer v.owned.mu.Unlock()
	n := 0
	for _, refs := range v.owned.all {
		for _, ref := range refs {
			if ref.Type == kind {
				n++
			}
		}
	}
	return n
}

// ForgetObjects lets the vCenter know nothing any more of the views, collectors and
// filters of its sessions, which stay open: requests that name one are answered
// with ManagedObjectNotFound.
func (v *VCenter) ForgetObjects() {
	v.owned.mu.Lock()
	if v.owned.gone == nil {
		v.owned.gone = make(map[types.ManagedObjectReference]bool)
	}
	for _, refs := range v.owned.all {
		for _, ref := range refs {
			v.owned.gone[ref] = true
		}
	}
	v.owned.mu.Unlock()
	v.wake.notify()
}

// Blind lets the open sessions read no property any more: reading goes on with HTTP
// 200, and each property is missing with NotAuthenticated. Everything else they may
// do.
func (v *VCenter) Blind() {
	v.owned.mu.Lock()
	if v.owned.blind == nil {
		v.owned.blind = make(map[string]bool)
	}
	for session := range v.owned.all {
		v.owned.blind[session] = true
	}
	v.owned.mu.Unlock()
	v.wake.notify()
}

// lost returns the first object that a request names and that ForgetObjects has
// made vanish.
func (o *owned) lost(m *simulator.Method) (types.ManagedObjectReference, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	named := []types.ManagedObjectReference{m.This}
	for _, spec := range filterSpecs(m) {
		for _, set := range spec.ObjectSet {
			named = append(named, set.Obj)
		}
	}
	for _, ref := range named {
		if o.gone[ref] {
			return ref, true
		}
	}
	return types.ManagedObjectReference{}, false
}

func (o *owned) isBlind(r *http.Request) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.blind[sessionOf(r)]
}

func notAuthenticated(path string, of types.ManagedObjectReference) types.MissingProperty {
	return types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{
		Fault: &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &of, PrivilegeId: "System.Read"}},
	}}
}

// blinded returns the answer to a reading of properties as a session gets it that
// may read none.
func (o *owned) blinded(r *http.Request, method string, res *response) *response {
	if method != "RetrievePropertiesEx" || !o.isBlind(r) {
		return res
	}
	var body methods.RetrievePropertiesExBody
	if err := open(res, &body); err != nil || body.Res == nil || body.Res.Returnval == nil {
		return res
	}
	for i := range body.Res.Returnval.Objects {
		object := &body.Res.Returnval.Objects[i]
		for _, p := range object.PropSet {
			object.MissingSet = append(object.MissingSet, notAuthenticated(p.Name, object.Obj))
		}
		object.PropSet = nil
	}
	return &response{res.status, res.header, encode("", &body)}
}

// blindPoll returns the answer to a long poll of such a session, nil for others:
// properties of machines have become unreadable.
func (o *owned) blindPoll(r *http.Request, machines func() []types.ManagedObjectReference) *response {
	if !o.isBlind(r) {
		return nil
	}
	set := &types.UpdateSet{Version: "blind"}
	all := machines()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ref := range o.all[sessionOf(r)] {
		if ref.Type != "PropertyFilter" {
			continue
		}
		update := types.PropertyFilterUpdate{Filter: ref}
		for _, vm := range all {
			update.ObjectSet = append(update.ObjectSet, types.ObjectUpdate{
				Kind: types.ObjectUpdateKindModify, Obj: vm,
				MissingSet: []types.MissingProperty{notAuthenticated("config.uuid", vm)},
			})
		}
		set.FilterSet = append(set.FilterSet, update)
	}
	body := &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: set}}
	return &response{http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, encode("", body)}
}

func (v *VCenter) machineRefs() []types.ManagedObjectReference {
	v.world.RLock()
	defer v.world.RUnlock()
	var refs []types.ManagedObjectReference
	for _, m := range v.inv.machines {
		refs = append(refs, m.vm.Self)
	}
	return refs
}
