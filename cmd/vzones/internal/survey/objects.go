package survey

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

// An above is an object with what is above it.
type above struct {
	*topology.Object
	// Parent is the object above it. There is none above the root folder, and none where that
	// cannot be read, as Broken says then.
	Parent *types.ManagedObjectReference
	Broken error
}

// objectsOf returns what was read of these types, with its tags and with what hosts belong to, as
// snapshots have it.
func (r *reader) objectsOf(attached tags.Attachments, facts model.HostFacts, kinds ...string) map[types.ManagedObjectReference]above {
	hosts := &model.Memberships{Facts: facts}
	all := map[types.ManagedObjectReference]above{}
	for _, kind := range kinds {
		for _, ref := range r.tree.OfType(kind) {
			o := &topology.Object{Ref: r.ref(ref), Name: r.tree.Name(ref), Path: r.tree.Path(ref)}
			o.Tags, o.TagsErr = attached.Of(ref)
			o.HostGroups, o.FaultDomain = hosts.Of(r.tree, ref)
			all[ref] = above{Object: o}
		}
	}
	for ref, a := range all {
		if ref == r.session.Client().ServiceContent.RootFolder {
			continue
		}
		parent, err := r.tree.Above(r.vcenter, ref)
		if _, read := all[parent]; err == nil && !read {
			err = fmt.Errorf("%s cannot be read: give the account the role Read-only there", r.ref(parent).Located(""))
		}
		if a.Broken = err; err == nil {
			a.Parent = &parent
		}
		all[ref] = a
	}
	return all
}

func (r *reader) ref(ref types.ManagedObjectReference) topology.Ref {
	return topology.Ref{VCenter: r.vcenter, Type: ref.Type, ID: ref.Value}
}
