package fleet

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

type owned struct {
	mu        sync.Mutex
	bySession map[string][]types.ManagedObjectReference // keyed by session ID
}

var returned = regexp.MustCompile(`<returnval[^>]* type="([A-Za-z]+)"[^>]*>([^<]+)</returnval>`)

// recordOwned records the objects that a request created or destroyed.
func (v *VCenter) recordOwned(r *http.Request, method string, body []byte, res *response) {
	if res.status != http.StatusOK {
		return
	}
	session := sessionOf(r)
	switch {
	case method == "Logout":
		v.owned.forget(session)
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
	if o.bySession == nil {
		o.bySession = make(map[string][]types.ManagedObjectReference)
	}
	o.bySession[session] = append(o.bySession[session], ref)
}

func (o *owned) remove(session string, ref types.ManagedObjectReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bySession[session] = slices.DeleteFunc(slices.Clone(o.bySession[session]), func(r types.ManagedObjectReference) bool { return r == ref })
}

func (o *owned) forget(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.bySession, session)
}

func (o *owned) snapshot() map[string][]types.ManagedObjectReference {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.bySession)
}

// Owned returns the number of objects of a type, such as ContainerView, that open sessions have
// created and not destroyed.
func (v *VCenter) Owned(kind string) int {
	n := 0
	for _, refs := range v.owned.snapshot() {
		for _, ref := range refs {
			if ref.Type == kind {
				n++
			}
		}
	}
	return n
}

// ForgetObjects makes the vCenter lose the views, collectors and filters of all sessions, which
// stay open. Requests that name such an object fail with ManagedObjectNotFound.
func (v *VCenter) ForgetObjects() {
	gone := make(map[types.ManagedObjectReference]bool)
	for _, refs := range v.owned.snapshot() {
		for _, ref := range refs {
			gone[ref] = true
		}
	}
	v.set(func(c *conditions) { maps.Copy(gone, c.lostObjects); c.lostObjects = gone })
}

// Blind prevents the open sessions from reading properties: reads succeed with HTTP 200, but every
// property is missing with NotAuthenticated. All other requests work.
func (v *VCenter) Blind() {
	blind := make(map[string]bool)
	for session := range v.owned.snapshot() {
		blind[session] = true
	}
	v.set(func(c *conditions) { c.blindSessions = blind })
}

func (c *conditions) lostObject(m *simulator.Method) (types.ManagedObjectReference, bool) {
	named := []types.ManagedObjectReference{m.This}
	for _, spec := range filterSpecs(m) {
		for _, set := range spec.ObjectSet {
			named = append(named, set.Obj)
		}
	}
	for _, ref := range named {
		if c.lostObjects[ref] {
			return ref, true
		}
	}
	return types.ManagedObjectReference{}, false
}

func notAuthenticated(path string, object types.ManagedObjectReference) types.MissingProperty {
	return types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{
		Fault: &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &object, PrivilegeId: "System.Read"}},
	}}
}

// blindedResponse returns the response to a property read of a session affected by Blind.
func (v *VCenter) blindedResponse(r *http.Request, method string, res *response) *response {
	if method != "RetrievePropertiesEx" || !v.currentConditions().blindSessions[sessionOf(r)] {
		return res
	}
	var body methods.RetrievePropertiesExBody
	return amend(res, &body, func() bool {
		if body.Res == nil || body.Res.Returnval == nil {
			return false
		}
		for i := range body.Res.Returnval.Objects {
			object := &body.Res.Returnval.Objects[i]
			for _, p := range object.PropSet {
				object.MissingSet = append(object.MissingSet, notAuthenticated(p.Name, object.Obj))
			}
			object.PropSet = nil
		}
		return true
	})
}

// blindPoll returns the response to a long poll of such a session: the properties of VMs have
// become unreadable.
func (v *VCenter) blindPoll(r *http.Request) *response {
	set := &types.UpdateSet{Version: "blind"}
	for _, ref := range v.owned.snapshot()[sessionOf(r)] {
		if ref.Type != "PropertyFilter" {
			continue
		}
		update := types.PropertyFilterUpdate{Filter: ref}
		for _, m := range v.VMs() {
			update.ObjectSet = append(update.ObjectSet, types.ObjectUpdate{
				Kind: types.ObjectUpdateKindModify, Obj: m.Reference(),
				MissingSet: []types.MissingProperty{notAuthenticated("config.uuid", m.Reference())},
			})
		}
		set.FilterSet = append(set.FilterSet, update)
	}
	body := &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: set}}
	return &response{http.StatusOK, http.Header{"Content-Type": {"text/xml"}}, encode("", body)}
}
