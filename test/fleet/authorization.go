package fleet

import (
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// authorization is what the simulator calls in the place of its own authorization manager,
// which grants everything to everybody.
type authorization struct {
	mo.AuthorizationManager
	v *VCenter
}

var authorizationRef = types.ManagedObjectReference{Type: "AuthorizationManager", Value: "FleetAuthorizationManager"}

// serveAuthorization puts it into the registry.
func (v *VCenter) serveAuthorization() {
	a := &authorization{v: v}
	a.Self = authorizationRef
	v.registry().Put(a)
}

// mayRedirect reports whether a method is that of authorization.
func mayRedirect(method string) bool { return method == "HasUserPrivilegeOnEntities" }

// HasUserPrivilegeOnEntities grants System.View on what is not hidden, and System.Read where DenyRead
// has not taken it. Other users have nothing.
func (a *authorization) HasUserPrivilegeOnEntities(req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	t := &a.v.tagging
	t.mu.Lock()
	defer t.mu.Unlock()
	res := &types.HasUserPrivilegeOnEntitiesResponse{}
	for _, ref := range req.Entities {
		e := types.EntityPrivilege{Entity: ref}
		for _, id := range req.PrivId {
			granted := false
			switch id {
			case "System.Anonymous", "System.View":
				granted = a.v.hasUser(req.UserName)
			case "System.Read":
				granted = a.v.hasUser(req.UserName) && !t.noRead[ref]
			}
			e.PrivAvailability = append(e.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: granted})
		}
		res.Returnval = append(res.Returnval, e)
	}
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: res}
}

func (v *VCenter) hasUser(name string) bool {
	return name == v.user || slices.ContainsFunc(v.accounts, func(a AccountSpec) bool { return a.User == name })
}
