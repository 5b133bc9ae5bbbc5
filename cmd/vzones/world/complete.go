package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// isRead reports whether every vCenter was read or has failed. If details is false, it does not wait for
// the details of VMs.
func (w *World) isRead(states []inventory.State, details bool) bool {
	health := w.fleet.Health()
	for i := range states {
		s := &states[i]
		if errors.As(s.Err, new(*vcenter.SlowLoginError)) {
			// The login is still running.
			return false
		}
		if s.Err == nil && (s.Snapshot == nil || !w.isComplete(s.Snapshot, tagsOf(health, s.VCenter), details)) {
			return false
		}
	}
	return !details || !w.askAboutHomes(states)
}

// askAboutHomes asks a vCenter that does not show the last known VM of a Node whether that VM still exists.
// It reports whether a reply is pending.
func (w *World) askAboutHomes(states []inventory.State) (isPending bool) {
	for i := range w.followed {
		_, err := inventory.Find(states, w.followed[i])
		var notShown *inventory.NotShown
		if errors.As(err, &notShown) && notShown.Reply == inventory.Unasked {
			w.fleet.AskHome(notShown.VCenter, notShown.ID)
			isPending = true
		}
	}
	return isPending
}

func tagsOf(health []vcenter.Health, name string) vcenter.TagReading {
	for i := range health {
		if health[i].VCenter == name {
			return health[i].Tags
		}
	}
	return vcenter.TagsNotRead
}

// isComplete reports whether a snapshot contains everything that Nodes depend on, or the error of each
// missing part.
func (w *World) isComplete(s *inventory.Snapshot, reading vcenter.TagReading, details bool) bool {
	for i := range w.followed {
		if !isFound(s, &w.followed[i], details) {
			return false
		}
	}
	for id, m := range s.VMs {
		if slices.Contains(s.Outside, id) {
			// A VM outside the configured datacenters places no Node.
			continue
		}
		if reading != vcenter.TagsFailed && !w.tagsAreRead(m) || w.Config.Topology.Policy.HostGroups() && !groupsAreRead(m) {
			return false
		}
	}
	return true
}

// isFound reports whether a VM was searched for and, if details is true, whether the details of all matches
// were read.
func isFound(s *inventory.Snapshot, id *inventory.Identity, details bool) bool {
	isRead := func(e *inventory.Entry) bool {
		m := s.VMs[e.ID]
		return !details || e.Template || e.Unreadable || m != nil && !m.UUID.IsZero()
	}
	if len(id.UUIDs) == 0 {
		found, searched := s.Names[id.Name]
		return searched && !slices.ContainsFunc(found, func(e inventory.NameEntry) bool { return !isRead(&e.Entry) })
	}
	for _, u := range id.UUIDs {
		if slices.ContainsFunc(s.Entries(u), func(e inventory.Entry) bool { return !isRead(&e) }) {
			return false
		}
	}
	return true
}

func (w *World) pendingDetails(states []inventory.State) int {
	n := 0
	for i := range states {
		s := &states[i]
		for j := range w.followed {
			if s.Err == nil && (s.Snapshot == nil || !isFound(s.Snapshot, &w.followed[j], true)) {
				n++
			}
		}
	}
	return n
}

// tagsAreRead reports whether reading the tags above a VM has ended, even in failure.
func (w *World) tagsAreRead(m *inventory.VM) bool {
	return !hasObject(m, func(p *topology.Path, _ int, o *topology.Object) bool {
		return w.isTagged(p) && errors.Is(o.TagsErr, topology.ErrNotRead)
	})
}

func (w *World) isTagged(p *topology.Path) bool {
	return w.needs.Tags && slices.Contains(w.needs.Paths, p.Kind)
}

// TagsErr returns the first error of reading the tags above a vCenter's VMs. It ignores objects whose
// tags the account may not read.
func (w *World) TagsErr(s *inventory.State) error {
	if s.Snapshot == nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(s.Snapshot.VMs)) {
		var found error
		hasObject(s.Snapshot.VMs[id], func(p *topology.Path, _ int, o *topology.Object) bool {
			if w.isTagged(p) && o.TagsErr != nil && !errors.Is(o.TagsErr, topology.ErrNotPermitted) {
				found = o.TagsErr
			}
			return found != nil
		})
		switch {
		case found == nil || slices.Contains(s.Snapshot.Outside, id):
		case errors.Is(found, topology.ErrNotRead):
			return fmt.Errorf("no answer within %v", w.timeout)
		default:
			return found
		}
	}
	return nil
}

// groupsAreRead reports whether reading the DRS host groups of a VM's host has ended, even in failure. Only
// clusters have host groups.
func groupsAreRead(m *inventory.VM) bool {
	return !hasObject(m, func(p *topology.Path, i int, o *topology.Object) bool {
		inCluster := i+1 < len(p.Objects) && p.Objects[i+1].Ref.Type == "ClusterComputeResource"
		return o.Ref.Type == "HostSystem" && inCluster && o.HostGroups == nil
	})
}

func hasObject(m *inventory.VM, matches func(*topology.Path, int, *topology.Object) bool) bool {
	for i := range m.Paths {
		for j, o := range m.Paths[i].Objects {
			if matches(&m.Paths[i], j, o) {
				return true
			}
		}
	}
	return false
}

// LateError reports that a vCenter was not read within --timeout.
type LateError struct {
	VCenter string
	Within  time.Duration
}

func (e *LateError) Error() string {
	return fmt.Sprintf("vCenter %q was not read within %v: check whether it is overloaded, or increase --timeout", e.VCenter, e.Within)
}

func (w *World) failUnread(states []inventory.State) []inventory.State {
	states = slices.Clone(states)
	for i, h := range w.fleet.Health() {
		s := &states[i]
		if s.Err != nil || s.Snapshot != nil || s.VCenter != h.VCenter {
			continue
		}
		s.Err = &LateError{s.VCenter, w.timeout}
		if h.Answered {
			s.Cause = inventory.CausePending
		}
	}
	return states
}
