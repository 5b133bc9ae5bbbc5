package fleet

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// missingReason returns the reason that a property is missing from a response, or nil. Without System.Read
// on an object, the account still sees the properties covered by System.View.
func (c *conditions) missingReason(object types.ManagedObjectReference, path string) types.BaseMethodFault {
	if c.noRead[object] && path != "name" && path != "parent" {
		return &types.NoPermission{Object: &object, PrivilegeId: "System.Read"}
	}
	return nil
}

// notifyReadable reports the properties of a VM, cluster or host to property collectors again,
// after they became readable or unreadable.
func (v *VCenter) notifyReadable(ref types.ManagedObjectReference) {
	v.world.Lock()
	defer v.world.Unlock()
	switch o := v.inv.reg.Get(ref).(type) {
	case *simulator.ClusterComputeResource:
		v.inv.notifyGroups(o)
		return
	case *simulator.HostSystem:
		v.inv.notifyFaultDomain(o)
		return
	}
	i := slices.IndexFunc(v.inv.vms, func(m *simVM) bool { return m.vm.Self == ref })
	if i < 0 || v.inv.hidden[ref] != nil {
		return
	}
	m := v.inv.vms[i]
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

// removeUnreadable removes the properties and search results that the account may not read from a response.
func (v *VCenter) removeUnreadable(method string, res *response) *response {
	h := v.currentConditions()
	if len(h.noRead) == 0 {
		return res
	}
	unread := h.noRead
	switch method {
	case "RetrieveProperties":
		var body methods.RetrievePropertiesBody
		return amend(res, &body, func() bool { return body.Res != nil && h.strip(body.Res.Returnval) })
	case "RetrievePropertiesEx":
		var body methods.RetrievePropertiesExBody
		return amend(res, &body, func() bool {
			return body.Res != nil && body.Res.Returnval != nil && h.strip(body.Res.Returnval.Objects)
		})
	case "ContinueRetrievePropertiesEx":
		var body methods.ContinueRetrievePropertiesExBody
		return amend(res, &body, func() bool { return body.Res != nil && h.strip(body.Res.Returnval.Objects) })
	case "WaitForUpdatesEx":
		var body methods.WaitForUpdatesExBody
		return amend(res, &body, func() bool {
			return body.Res != nil && body.Res.Returnval != nil && h.stripUpdates(body.Res.Returnval)
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

// amend decodes a response into body and returns it re-encoded if change reports a change.
func amend(res *response, body any, change func() bool) *response {
	if err := open(res, body); err != nil || !change() {
		return res
	}
	return &response{res.status, res.header, encode("", body)}
}

func (c *conditions) strip(objects []types.ObjectContent) (changed bool) {
	for i := range objects {
		o := &objects[i]
		o.PropSet = slices.DeleteFunc(o.PropSet, func(p types.DynamicProperty) bool {
			return c.missing(o.Obj, p.Name, &o.MissingSet, &changed)
		})
	}
	return changed
}

func (c *conditions) stripUpdates(set *types.UpdateSet) (changed bool) {
	for i := range set.FilterSet {
		for j := range set.FilterSet[i].ObjectSet {
			o := &set.FilterSet[i].ObjectSet[j]
			o.ChangeSet = slices.DeleteFunc(o.ChangeSet, func(p types.PropertyChange) bool {
				return c.missing(o.Obj, p.Name, &o.MissingSet, &changed)
			})
		}
	}
	return changed
}

func (c *conditions) missing(object types.ManagedObjectReference, path string, set *[]types.MissingProperty, changed *bool) bool {
	fault := c.missingReason(object, path)
	if fault == nil {
		return false
	}
	*set = append(*set, types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{Fault: fault}})
	*changed = true
	return true
}

func leaveOut(refs *[]types.ManagedObjectReference, unread map[types.ManagedObjectReference]bool) (changed bool) {
	n := len(*refs)
	*refs = slices.DeleteFunc(*refs, func(ref types.ManagedObjectReference) bool { return unread[ref] })
	return len(*refs) < n
}

// LimitPages limits a response to RetrievePropertiesEx to n objects, even if the client requests
// more; 0 removes the limit.
func (v *VCenter) LimitPages(n int32) { v.set(func(c *conditions) { c.maxPageSize = n }) }

func (f *faults) limited(body []byte) []byte {
	n := f.maxPageSize
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
