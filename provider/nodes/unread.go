package nodes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/provider/placement"
	"vzones/topology"
)

// reasonUnread is the reason of the Event on the daemon's Pod that names objects
// whose tags the account may not read.
const reasonUnread = "TagsUnreadable"

// namedAtMost is how many objects one Event or one log line names. The log has all of them.
const namedAtMost = 8

// unread are objects whose tags the account may not read, by vCenter.
type unread map[string]map[topology.Ref]*topology.Object

func (u unread) add(o *topology.Object) {
	if u[o.Ref.VCenter] == nil {
		u[o.Ref.VCenter] = map[topology.Ref]*topology.Object{}
	}
	u[o.Ref.VCenter][o.Ref] = o
}

// take makes the objects of a vCenter those that are seen now, and returns those
// that are new, in the order of their paths.
func (u unread) take(vcenter string, seen map[topology.Ref]*topology.Object) []*topology.Object {
	var fresh []*topology.Object
	for ref, o := range seen {
		if u[vcenter][ref] == nil {
			fresh = append(fresh, o)
		}
	}
	if len(seen) > 0 || u[vcenter] != nil {
		u[vcenter] = seen
	}
	slices.SortFunc(fresh, topology.CompareObjects)
	return fresh
}

// unreadTags are the objects that were recorded: those that count as untagged because the account
// may not read their tags, and the folders that vSphere makes itself.
type unreadTags struct{ objects, system unread }

// unreadSeen is what one pass over all Nodes finds.
type unreadSeen struct {
	unreadTags
	// vcenters are those in which a Node is placed. Of the others nothing is known
	// now.
	vcenters map[string]bool
}

// add takes up a Node's place.
func (s *unreadSeen) add(place *placement.Place) {
	if place.Machine == nil {
		return
	}
	if s.vcenters == nil {
		*s = unreadSeen{unreadTags{unread{}, unread{}}, map[string]bool{}}
	}
	s.vcenters[cmp.Or(place.VCenter, place.Machine.Ref.VCenter)] = true
	for _, conflict := range place.Placement.Conflicts {
		if conflict.Kind == topology.ConflictUnread {
			for _, o := range conflict.Objects {
				s.objects.add(o)
			}
		}
	}
	for _, o := range place.Placement.SystemUnread {
		s.system.add(o)
	}
}

// recordUnread records once each object that counts as untagged because the account
// may not read its tags, in one Event for each vCenter. The folders that vSphere makes
// itself are in the log only: hardly anybody tags them, and with the roles that are
// usual they are never readable.
func (l *labeler) recordUnread(ctx context.Context, seen *unreadSeen) {
	log := klog.FromContext(ctx)
	for _, vcenter := range slices.Sorted(maps.Keys(seen.vcenters)) {
		objects := l.unread.objects.take(vcenter, seen.objects[vcenter])
		system := l.unread.system.take(vcenter, seen.system[vcenter])
		for some := range slices.Chunk(system, namedAtMost) {
			log.Info("The account may not read the tags of folders that vSphere makes itself; they count as untagged",
				"vCenter", vcenter, "privilege", "System.Read", "folders", topology.Named(some))
		}
		if len(objects) == 0 {
			continue
		}
		for some := range slices.Chunk(objects, namedAtMost) {
			log.Info("The account may not read the tags of objects; they count as untagged, and running Nodes keep labels that may rest on them",
				"vCenter", vcenter, "privilege", "System.Read", "objects", topology.Named(some))
		}
		l.recordOnPod(v1.EventTypeWarning, reasonUnread, unreadText(vcenter, objects))
	}
}

func unreadText(vcenter string, objects []*topology.Object) string {
	more := ""
	if n := len(objects) - namedAtMost; n > 0 {
		objects, more = objects[:namedAtMost], fmt.Sprintf(" and %d more, which the log names", n)
	}
	return fmt.Sprintf("vCenter %q: the account lacks the privilege System.Read on %s%s. Objects whose tags it may not read count as untagged "+
		"for Nodes below them, and running Nodes keep labels that may rest on that. Give the account the role Read-only there, without propagation.",
		vcenter, topology.Named(objects), more)
}
