package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/fleet"
	"vzones/topology"
)

func vmCheck(a *arguments, name string) check {
	if name == "" {
		a.fail("VM is missing")
	}
	return present(func(s state) string {
		if name == none {
			return entryIs(s.node.Annotations, "annotation", nodeinfo.KeyVM, none)
		}
		pattern := name
		if name == "yes" {
			pattern = "*"
		}
		vms, err := s.vmsNamed(pattern)
		if err != nil {
			return err.Error()
		}
		if name == "yes" {
			vms = slices.DeleteFunc(vms, func(m fleet.VM) bool { return m.ProviderID() != s.providerID })
		}
		if len(vms) != 1 {
			return fmt.Sprintf("the fleet has %d VMs named %q", len(vms), name)
		}
		want := vms[0].VCenter + "/" + vms[0].MoID
		is := entryIs(s.node.Annotations, "annotation", nodeinfo.KeyVM, want)
		return unless(is == "", is+", want "+want)
	})
}

func addressesCheck(a *arguments, _ string) check {
	want := strings.Fields(a.word("LIST"))
	return present(func(s state) string {
		actual := []string{}
		for _, address := range s.node.Status.Addresses {
			actual = append(actual, string(address.Type)+"="+address.Address)
		}
		return unless(slices.Equal(actual, want), fmt.Sprintf("addresses %q", strings.Join(actual, " ")))
	})
}

// untouched returns the other writer of a Node according to its managed fields. A removal leaves no trace there, so it
// also compares the spec and checks for Events.
func untouched(s state) string {
	for _, f := range s.node.ManagedFields {
		if !slices.ContainsFunc(s.made.ManagedFields, func(own metav1.ManagedFieldsEntry) bool { return own.Manager == f.Manager }) {
			return "written to by " + f.Manager
		}
	}
	if !equality.Semantic.DeepEqual(s.node.Spec, s.made.Spec) {
		return fmt.Sprintf("spec %+v, want %+v", s.node.Spec, s.made.Spec)
	}
	return unless(len(s.events) == 0, "Events: "+listEvents(s.events))
}

// asMarked returns the difference between a Node and the mark, without vzones' labels, annotations and condition.
func asMarked(s state) string {
	if s.marked == nil {
		return noMark
	}
	was := ofOthers(s.marked)
	is := ofOthers(s.node)
	return unless(equality.Semantic.DeepEqual(is, was), fmt.Sprintf("%+v, want %+v", is, was))
}

// ofOthers returns a Node without vzones' labels, annotations and condition.
func ofOthers(n *v1.Node) *v1.Node {
	foreign := func(all map[string]string) map[string]string {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key, _ string) bool {
			return strings.HasPrefix(key, topology.OwnDomain+"/") || key == nodeinfo.KeyInitialized
		})
		return all
	}
	n = n.DeepCopy()
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady })
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: foreign(n.Labels), Annotations: foreign(n.Annotations)}, Spec: n.Spec, Status: n.Status}
}

// unchanged fails if a Node was written since the mark, apart from vzones' condition.
func unchanged(s state) string {
	switch {
	case s.marked == nil:
		return noMark
	case s.marked.ResourceVersion == s.node.ResourceVersion:
		return ""
	case slices.Equal(writes(s.node), writes(s.marked)) && asMarked(s) == "" && maps.Equal(s.node.Annotations, s.marked.Annotations):
		return "" // only vzones' condition was written
	}
	return unwritten(s)
}

// writes lists the managers of a Node with their last write, without the status.
func writes(n *v1.Node) []string {
	var entries []string
	for _, f := range n.ManagedFields {
		if f.Subresource == "" && f.Time != nil {
			entries = append(entries, f.Manager+" "+f.Time.Format(time.RFC3339))
		}
	}
	slices.Sort(entries)
	return entries
}

// unwritten fails if a Node was written since the mark, and returns the last writer.
func unwritten(s state) string {
	switch {
	case s.marked == nil:
		return noMark
	case s.marked.ResourceVersion == s.node.ResourceVersion:
		return ""
	}
	latest := ""
	var latestTime time.Time
	for _, f := range s.node.ManagedFields {
		if f.Time != nil && !f.Time.Time.Before(latestTime) {
			latest = f.Manager
			latestTime = f.Time.Time
		}
	}
	return "written to since `mark nodes`, last by " + latest
}
