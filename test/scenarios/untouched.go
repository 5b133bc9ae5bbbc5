package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"vzones/test/fleet"
)

// machineKey is the annotation in which the daemon keeps what it knows of a
// Node's machine.
const machineKey = "vzones/machine"

// readyCondition is the daemon's condition of Nodes.
const readyCondition = "vzones/TopologyReady"

func machineCheck(a *arguments, name string) check {
	if name == "" {
		a.fail("a machine is missing")
	}
	return present(func(s state) string {
		if name == none {
			return entryIs(s.node.Annotations, "annotation", machineKey, none)
		}
		pattern := name
		if name == "yes" {
			pattern = "*"
		}
		machines, err := s.machines(pattern)
		if err != nil {
			return err.Error()
		}
		if name == "yes" {
			machines = slices.DeleteFunc(machines, func(m fleet.Machine) bool { return m.ProviderID() != s.providerID })
		}
		if len(machines) != 1 {
			return fmt.Sprintf("the fleet has %d machines %q", len(machines), name)
		}
		want := machines[0].VCenter + "/" + machines[0].MoID
		is := entryIs(s.node.Annotations, "annotation", machineKey, want)
		return unless(is == "", is+", not "+want)
	})
}

func addressesCheck(a *arguments, _ string) check {
	want := strings.Fields(a.word("LIST"))
	return present(func(s state) string {
		is := []string{}
		for _, address := range s.node.Status.Addresses {
			is = append(is, string(address.Type)+"="+address.Address)
		}
		return unless(slices.Equal(is, want), fmt.Sprintf("addresses %q", strings.Join(is, " ")))
	})
}

// untouched returns who else has written to a Node, or what. The API keeps who has
// set which fields; what is no longer there shows who has removed it.
func untouched(s state) string {
	own := writers(s.made)
	for _, writer := range writers(s.node) {
		if !slices.Contains(own, writer) {
			return "written to by " + writer
		}
	}
	if is := differs(s.node, s.made, s.node.Annotations, s.made.Annotations); is != "" {
		return is
	}
	return unless(len(s.events) == 0, "Events: "+listEvents(s.events))
}

// asMarked returns what of a Node differs from the mark, but for annotations and the condition of
// vzones.
func asMarked(s state) string {
	if s.marked == nil {
		return noMark
	}
	if is := differs(s.node, s.marked, others(s.node.Annotations), others(s.marked.Annotations)); is != "" {
		return is
	}
	was, is := othersStatus(s.marked), othersStatus(s.node)
	return unless(equality.Semantic.DeepEqual(is, was), fmt.Sprintf("status %+v, not %+v", is, was))
}

// othersStatus is the status of a Node without the condition of vzones.
func othersStatus(n *v1.Node) v1.NodeStatus {
	status := n.DeepCopy().Status
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c v1.NodeCondition) bool { return c.Type == readyCondition })
	return status
}

// others are the labels or annotations that are not of vzones.
func others(all map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(key, _ string) bool {
		return strings.HasPrefix(key, "vzones/") || strings.HasPrefix(key, "vzones.")
	})
	return all
}

// differs returns in what two states of a Node with these annotations differ.
func differs(is, was *v1.Node, isNoted, wasNoted map[string]string) string {
	switch {
	case !maps.Equal(others(is.Labels), others(was.Labels)):
		return fmt.Sprintf("labels %v, not %v", is.Labels, was.Labels)
	case !maps.Equal(isNoted, wasNoted):
		return fmt.Sprintf("annotations %v, not %v", isNoted, wasNoted)
	case !equality.Semantic.DeepEqual(is.Spec, was.Spec):
		return fmt.Sprintf("spec %+v, not %+v", is.Spec, was.Spec)
	case !equality.Semantic.DeepEqual(is.Status.Addresses, was.Status.Addresses):
		return fmt.Sprintf("addresses %v, not %v", is.Status.Addresses, was.Status.Addresses)
	}
	return ""
}

func writers(n *v1.Node) []string {
	var all []string
	for _, f := range n.ManagedFields {
		all = append(all, f.Manager)
	}
	return all
}

// unchanged returns that a Node has been written since the mark, but for the condition of vzones.
func unchanged(s state) string {
	switch {
	case s.marked == nil:
		return noMark
	case s.marked.ResourceVersion == s.node.ResourceVersion:
		return ""
	case slices.Equal(writes(s.node), writes(s.marked)) && asMarked(s) == "" && maps.Equal(s.node.Annotations, s.marked.Annotations):
		return "" // but for the condition of vzones
	}
	return unwritten(s)
}

// writes are who has written what of a Node last, and when, but for the status.
func writes(n *v1.Node) []string {
	var all []string
	for _, f := range n.ManagedFields {
		if f.Subresource == "" && f.Time != nil {
			all = append(all, f.Manager+" "+f.Time.Format(time.RFC3339))
		}
	}
	slices.Sort(all)
	return all
}

// unwritten returns that a Node has been written since the mark, and by whom last.
func unwritten(s state) string {
	switch {
	case s.marked == nil:
		return noMark
	case s.marked.ResourceVersion == s.node.ResourceVersion:
		return ""
	}
	latest := ""
	var at time.Time
	for _, f := range s.node.ManagedFields {
		if f.Time != nil && !f.Time.Time.Before(at) {
			latest, at = f.Manager, f.Time.Time
		}
	}
	return "written to since the mark, last by " + latest
}
