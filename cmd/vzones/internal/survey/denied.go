package survey

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/session"
)

// entitiesPerRequest bounds the objects of which the privileges are asked for at a time.
const entitiesPerRequest = 1000

// readDenied asks which of the privileges that are needed the user of the session does not have. The
// question needs System.View on each object alone, which shows an object in the first place.
func readDenied(ctx context.Context, s *session.Session, user string, objects map[types.ManagedObjectReference]above, needs func(types.ManagedObjectReference) []Need) ([]Denied, error) {
	manager := s.Client().ServiceContent.AuthorizationManager
	switch {
	case manager == nil:
		return nil, errors.New("the vCenter has no authorization manager")
	case user == "":
		return nil, errors.New("the vCenter does not say whose session it is")
	}
	refs := slices.SortedFunc(maps.Keys(objects), func(a, b types.ManagedObjectReference) int {
		return cmp.Or(strings.Compare(objects[a].Path, objects[b].Path), strings.Compare(a.Type+a.Value, b.Type+b.Value))
	})
	var all []Denied
	for some := range slices.Chunk(refs, entitiesPerRequest) {
		res, err := methods.HasUserPrivilegeOnEntities(ctx, s.Client(), &types.HasUserPrivilegeOnEntities{
			This: *manager, Entities: some, UserName: user, PrivId: []string{privilegeView, privilegeRead},
		})
		if err != nil {
			return all, err
		}
		without := map[types.ManagedObjectReference][]string{}
		for _, e := range res.Returnval {
			for _, p := range e.PrivAvailability {
				if !p.IsGranted {
					without[e.Entity] = append(without[e.Entity], p.PrivId)
				}
			}
		}
		for _, ref := range some {
			all = append(all, denied(objects, ref, without[ref], needs(ref))...)
		}
	}
	return all, nil
}

// denied returns those of an object's needs that are among the privileges that the user does not have.
func denied(objects map[types.ManagedObjectReference]above, ref types.ManagedObjectReference, without []string, needs []Need) []Denied {
	var all []Denied
	o := objects[ref]
	for _, n := range needs {
		if slices.Contains(without, n.Privilege) && slices.Contains(n.Types, ref.Type) {
			all = append(all, Denied{Privilege: n.Privilege, For: n.For, Object: o.Object, Needed: n.Placing, System: isSystem(objects, o)})
		}
	}
	return all
}

// isSystem reports whether an object is a folder that vSphere makes.
func isSystem(objects map[types.ManagedObjectReference]above, o above) bool {
	up := topology.Path{Objects: []*topology.Object{o.Object}, Broken: o.Broken}
	if o.Parent != nil {
		up.Objects = append(up.Objects, objects[*o.Parent].Object)
	}
	return topology.IsSystemFolder(&up, 0)
}
