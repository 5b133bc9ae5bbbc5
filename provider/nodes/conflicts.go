package nodes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
)

const conflictsEvery = 5 * time.Second

const reasonUnread = "TagPermissionMissing"

const namedAtMost = 8

func (c *Controller) decidedNodes() iter.Seq2[*v1.Node, *nodeRecord] {
	return func(yield func(*v1.Node, *nodeRecord) bool) {
		for _, n := range c.nodes.All() {
			if nodeinfo.IsUninitialized(n) || c.placer.IsForeign(n) {
				continue
			}
			if r := c.recordOf(n); r != nil && r.decision != nil && !yield(n, r) {
				return
			}
		}
	}
}

func (c *Controller) findConflicts(ctx context.Context, l *labeler) {
	unread := map[string][]*topology.Object{}
	system := map[string][]*topology.Object{}
	categories := map[string]bool{}
	var placements []topology.Placement
	for _, r := range c.decidedNodes() {
		d := r.decision
		placements = append(placements, r.labels.placed)
		for _, conflict := range d.Placement.Conflicts {
			if isAboutCategory(conflict) {
				categories[conflict.Key()] = true
			}
		}
		if d.PlaceErr == nil {
			unread[d.VCenter] = append(unread[d.VCenter], unreadOf(d.Placement)...)
			system[d.VCenter] = append(system[d.VCenter], d.Placement.SystemUnread...)
		}
	}
	found := c.placer.Topology().Policy.FleetConflicts(placements)
	isUnchanged := l.conflicts.Equal(&found)
	l.conflicts = found
	if now := time.Now(); now.Sub(l.clearedAt) >= report.RepeatInterval(reasonUnread) {
		clear(l.unread)
		clear(l.categories)
		l.clearedAt = now
	}
	l.reportCategories(categories)
	l.reportUnread(ctx, unread, system)
	c.queue.AddAfter(item{job: findConflicts}, time.Until(l.clearedAt.Add(report.RepeatInterval(reasonUnread))))
	if isUnchanged {
		return
	}
	for n := range c.decidedNodes() {
		c.queue.Add(itemOf(n))
	}
}

// keepPlaced keeps, for conflicts between Nodes, the previous placement while a label is unknown and no other label
// changes: a mixture of two placements may be a place that the Node never had.
func (k *labelState) keepPlaced(d *placement.Decision) {
	unknown := false
	changed := !reflect.DeepEqual(k.placedPolicy, d.Topology.Policy)
	for _, former := range k.placed.Decisions {
		value := d.Placement.Value(former.Label)
		if value == "" && isUnknown(d, former.Label) {
			unknown = true
		} else if value != former.Value {
			changed = true
		}
	}
	if !unknown || changed {
		k.placed = d.Placement
		k.placedPolicy = d.Topology.Policy
	}
}

func isUnknown(d *placement.Decision, label string) bool {
	return errors.Is(d.PlaceErr, topology.ErrUnknown) || errors.Is(d.Placement.WhyUndecided(label), topology.ErrUnknown)
}

// isAboutCategory reports whether a conflict is about a whole vCenter or all vCenters, and not about objects.
func isAboutCategory(c topology.Conflict) bool {
	return c.Kind == topology.ConflictNoCategory || c.Kind == topology.ConflictMissingCategory
}

// isPlaceErr reports whether the Node's placement fails because of the conflict, so that another Event is about it.
func isPlaceErr(c topology.Conflict, placeErr error) bool {
	switch c.Kind {
	case topology.ConflictTwoTags, topology.ConflictTwoGroups:
		return errors.Is(placeErr, topology.ErrAmbiguous)
	case topology.ConflictInvalidValue:
		return errors.Is(placeErr, topology.ErrInvalid)
	}
	return false
}

// reportCategories reports categories that a vCenter or all vCenters lack, about hourly, on the daemon's Pod and not on
// each Node. The keys are the same for all Nodes, and do not depend on the Nodes' order.
func (l *labeler) reportCategories(current map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(current)) {
		if !l.categories[key] {
			l.emitOnPod(v1.EventTypeWarning, report.ReasonCategoryNotFound, quote.Note(key))
		}
	}
	l.categories = current
}

// reportUnread reports objects that are treated as untagged because the account cannot read their tags. An
// Event names new objects, and about hourly all. Folders that vSphere creates are only logged: few are tagged.
func (l *labeler) reportUnread(ctx context.Context, unread, system map[string][]*topology.Object) {
	log := klog.FromContext(ctx)
	for _, vcenter := range slices.Sorted(maps.Keys(unread)) {
		for chunk := range slices.Chunk(l.systemUnread.news(vcenter, system[vcenter]), namedAtMost) {
			log.Info("The account cannot read the tags of folders that vSphere creates; they are treated as untagged",
				"vCenter", vcenter, "privilege", "System.Read", "folders", topology.DescribeObjects(chunk))
		}
		objects := l.unread.news(vcenter, unread[vcenter])
		if len(objects) == 0 {
			continue
		}
		for chunk := range slices.Chunk(objects, namedAtMost) {
			log.Info("The account cannot read the tags of some objects; they are treated as untagged, and initialized Nodes keep labels that may depend on them",
				"vCenter", vcenter, "privilege", "System.Read", "objects", topology.DescribeObjects(chunk))
		}
		l.emitOnPod(v1.EventTypeWarning, reasonUnread, unreadText(vcenter, objects))
	}
}

type reportedObjects map[string]map[topology.Ref]bool

// news returns the objects that the previous call for the vCenter did not contain.
func (r reportedObjects) news(vcenter string, objects []*topology.Object) (news []*topology.Object) {
	previous := r[vcenter]
	current := map[topology.Ref]bool{}
	for _, o := range objects {
		if !current[o.Ref] && !previous[o.Ref] {
			news = append(news, o)
		}
		current[o.Ref] = true
	}
	r[vcenter] = current
	slices.SortFunc(news, topology.CompareObjects)
	return news
}

func unreadOf(placed topology.Placement) (all []*topology.Object) {
	for _, conflict := range placed.Conflicts {
		if conflict.Kind == topology.ConflictUnread {
			all = append(all, conflict.Objects...)
		}
	}
	return all
}

func unreadText(vcenter string, objects []*topology.Object) string {
	suffix := ""
	if n := len(objects) - namedAtMost; n > 0 {
		objects = objects[:namedAtMost]
		suffix = fmt.Sprintf(" and %d more, listed in the log", n)
	}
	return fmt.Sprintf("vCenter %q: the account lacks the privilege System.Read on %s%s. Objects whose tags it cannot read are treated as untagged "+
		"for Nodes below them, and initialized Nodes keep labels that may depend on them. Grant the account the role Read-only there, without propagation.",
		vcenter, topology.DescribeObjects(objects), suffix)
}
