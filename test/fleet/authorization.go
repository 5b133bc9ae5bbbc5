package fleet

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
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

// mayRedirect reports whether a method is one of those of authorization.
func mayRedirect(method string) bool {
	return slices.Contains([]string{"HasUserPrivilegeOnEntities", "AddAuthorizationRole", "UpdateAuthorizationRole"}, method)
}

// HasUserPrivilegeOnEntities grants System.View on what is not hidden, System.Read where DenyRead
// has not taken it, and everything else to an administrator. Other users have nothing.
func (a *authorization) HasUserPrivilegeOnEntities(req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	t := &a.v.tagging
	t.mu.Lock()
	defer t.mu.Unlock()
	res := &types.HasUserPrivilegeOnEntitiesResponse{}
	for _, ref := range req.Entities {
		e := types.EntityPrivilege{Entity: ref}
		for _, id := range req.PrivId {
			granted := a.v.isAdmin(req.UserName)
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

func (v *VCenter) isAdmin(name string) bool {
	return name == v.user && v.settings.admin || slices.ContainsFunc(v.accounts, func(a AccountSpec) bool { return a.User == name && a.Admin })
}

// roles returns the simulator's own manager, which has the roles.
func (a *authorization) roles() *simulator.AuthorizationManager {
	return a.v.registry().Get(*a.v.content().AuthorizationManager).(*simulator.AuthorizationManager)
}

// refuses returns the fault of a session whose user may not change roles.
func (a *authorization) refuses(ctx *simulator.Context) *soap.Fault {
	if a.v.isAdmin(ctx.Session.UserName) {
		return nil
	}
	root := a.v.rootFolder()
	return simulator.Fault("", &types.NoPermission{Object: &root, PrivilegeId: "Authorization.ModifyRoles"})
}

// AddAuthorizationRole makes a role. vCenter puts the three privileges of System into each.
func (a *authorization) AddAuthorizationRole(ctx *simulator.Context, req *types.AddAuthorizationRole) soap.HasFault {
	if fault := a.refuses(ctx); fault != nil {
		return &methods.AddAuthorizationRoleBody{Fault_: fault}
	}
	roles := a.roles()
	body := roles.AddAuthorizationRole(req).(*methods.AddAuthorizationRoleBody)
	if body.Fault_ == nil {
		made := &roles.RoleList[len(roles.RoleList)-1] // the simulator's has an ID that others have too
		made.RoleId = int32(1000 + len(roles.RoleList))
		body.Res.Returnval = made.RoleId
	}
	return body
}

// UpdateAuthorizationRole changes a role.
func (a *authorization) UpdateAuthorizationRole(ctx *simulator.Context, req *types.UpdateAuthorizationRole) soap.HasFault {
	if fault := a.refuses(ctx); fault != nil {
		return &methods.UpdateAuthorizationRoleBody{Fault_: fault}
	}
	roles := a.roles()
	if i := slices.IndexFunc(roles.RoleList, func(r types.AuthorizationRole) bool { return r.RoleId == req.RoleId }); i >= 0 && len(req.PrivIds) == 0 {
		// The simulator leaves the privileges as they are then.
		roles.RoleList[i].Privilege = []string{"System.Anonymous", "System.Read", "System.View"}
	}
	return roles.UpdateAuthorizationRole(req)
}

// MakeRole makes a role as an administrator would, with these privileges and those that each role has.
func (v *VCenter) MakeRole(name string, privileges ...string) error {
	v.world.Lock()
	defer v.world.Unlock()
	a := &authorization{v: v}
	a.roles().RoleList = append(a.roles().RoleList, types.AuthorizationRole{
		RoleId: int32(1001 + len(a.roles().RoleList)), Name: name, Info: &types.Description{Label: name, Summary: name},
		Privilege: append([]string{"System.Anonymous", "System.Read", "System.View"}, privileges...),
	})
	return nil
}

// Role returns the privileges of a role, nil if there is none of that name.
func (v *VCenter) Role(name string) []string {
	v.world.RLock()
	defer v.world.RUnlock()
	for _, r := range (&authorization{v: v}).roles().RoleList {
		if r.Name == name {
			return slices.Sorted(slices.Values(r.Privilege))
		}
	}
	return nil
}
