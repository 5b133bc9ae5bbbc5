package fleet

import (
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// unread returns the machines on which the account lacks System.Read.
func (t *tagging) unread() map[types.ManagedObjectReference]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	machines := make(map[types.ManagedObjectReference]bool)
	for ref := range t.noRead {
		if ref.Type == "VirtualMachine" {
			machines[ref] = true
		}
	}
	return machines
}

// reread tells those who watch a machine of its properties again, which have become
// readable or are not any more.
func (v *VCenter) reread(ref types.ManagedObjectReference) {
	v.world.Lock()
	defer v.world.Unlock()
	i := slices.IndexFunc(v.inv.machines, func(m *machine) bool { return m.vm.Self == ref })
	if i < 0 || v.inv.hidden[ref] != nil {
		return
	}
	m := v.inv.machines[i]
	c := powerChanges(m, m.vm.Runtime.PowerState, m.vm.Guest.HostName)
	c.config(m.vm.Config)
	c.set("config.ftInfo", m.vm.Config.FtInfo)
	c.optional("summary.config.uuid", m.vm.Summary.Config.Uuid)
	c.optional("guest.hostName", m.vm.Guest.HostName)
	c.set("runtime.connectionState", m.vm.Runtime.ConnectionState)
	c.set("runtime.host", m.vm.Runtime.Host)
	c.set("resourcePool", m.vm.ResourcePool)
	v.inv.update(m.vm, c)
}

// visible reports whether System.View is enough for a property of a machine.
func visible(property string) bool { return property == "name" || property == "parent" }

func noPermission(path string, of types.ManagedObjectReference) types.MissingProperty {
	return types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{
		Fault: &types.NoPermission{Object: &of, PrivilegeId: "System.Read"},
	}}
}

// withheld returns an answer without what takes System.Read on machines that the
// account has not: their properties are missing, and searches do not find them.
func (v *VCenter) withheld(method string, res *response) *response {
	unread := v.tagging.unread()
	if len(unread) == 0 {
		return res
	}
	switch method {
	case "RetrieveProperties":
		var body methods.RetrievePropertiesBody
		return amend(res, &body, func() bool { return body.Res != nil && strip(body.Res.Returnval, unread) })
	case "RetrievePropertiesEx":
		var body methods.RetrievePropertiesExBody
		return amend(res, &body, func() bool {
			return body.Res != nil && body.Res.Returnval != nil && strip(body.Res.Returnval.Objects, unread)
		})
	case "ContinueRetrievePropertiesEx":
		var body methods.ContinueRetrievePropertiesExBody
		return amend(res, &body, func() bool { return body.Res != nil && strip(body.Res.Returnval.Objects, unread) })
	case "WaitForUpdatesEx":
		var body methods.WaitForUpdatesExBody
		return amend(res, &body, func() bool {
			return body.Res != nil && body.Res.Returnval != nil && stripUpdates(body.Res.Returnval, unread)
		})
	case "FindAllByUuid":
		var body methods.FindAllByUuidBody
		return amend(res, &body, func() bool { return body.Res != nil && leaveOut(&body.Res.Returnval, unread) })
	case "FindAllByDnsName":
		var body methods.FindAllByDnsNameBody
		return amend(res, &body, func() bool { return body.Res != nil && leaveOut(&body.Res.Returnval, unread) })
	}
	return res
}

// amend returns an answer with the body that change has changed, if it has.
func amend(res *response, body any, change func() bool) *response {
	if err := open(res, body); err != nil || !change() {
		return res
	}
	return &response{res.status, res.header, encode("", body)}
}

func strip(objects []types.ObjectContent, unread map[types.ManagedObjectReference]bool) (changed bool) {
	for i := range objects {
		o := &objects[i]
		if !unread[o.Obj] {
			continue
		}
		changed = true
		o.PropSet = slices.DeleteFunc(o.PropSet, func(p types.DynamicProperty) bool {
			if !visible(p.Name) {
				o.MissingSet = append(o.MissingSet, noPermission(p.Name, o.Obj))
			}
			return !visible(p.Name)
		})
	}
	return changed
}

func stripUpdates(set *types.UpdateSet, unread map[types.ManagedObjectReference]bool) (changed bool) {
	for i := range set.FilterSet {
		for j := range set.FilterSet[i].ObjectSet {
			o := &set.FilterSet[i].ObjectSet[j]
			if !unread[o.Obj] {
				continue
			}
			changed = true
			o.ChangeSet = slices.DeleteFunc(o.ChangeSet, func(p types.PropertyChange) bool {
				if !visible(p.Name) {
					o.MissingSet = append(o.MissingSet, noPermission(p.Name, o.Obj))
				}
				return !visible(p.Name)
			})
		}
	}
	return changed
}

func leaveOut(refs *[]types.ManagedObjectReference, unread map[types.ManagedObjectReference]bool) (changed bool) {
	n := len(*refs)
	*refs = slices.DeleteFunc(*refs, func(ref types.ManagedObjectReference) bool { return unread[ref] })
	return len(*refs) < n
}

// LimitPages lets an answer to RetrievePropertiesEx have at most n objects, whatever
// the client asks for, 0 as many as it asks for.
func (v *VCenter) LimitPages(n int32) { v.afflict(func(f *faults) { f.pages = n }) }

// limited returns the request with the limit of LimitPages.
func (f *faults) limited(body []byte) []byte {
	f.mu.Lock()
	n := f.pages
	f.mu.Unlock()
	m, err := decode(body)
	if err != nil || n == 0 {
		return body
	}
	req, ok := m.Body.(*types.RetrievePropertiesEx)
	if !ok || req.Options.MaxObjects > 0 && req.Options.MaxObjects <= n {
		return body
	}
	req.Options.MaxObjects = n
	return encode(m.Header.ID, &methods.RetrievePropertiesExBody{Req: req})
}
