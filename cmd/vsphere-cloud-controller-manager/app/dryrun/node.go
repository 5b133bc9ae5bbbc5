package dryrun

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/topology/quote"
)

// otherFields is the field of what the table has no field of its own for.
const otherFields = "other fields"

// conditionField begins the field of a condition.
const conditionField = "condition "

// A Change is a field of a Node that would be written. Now and Would are nil where the field is
// not there.
type Change struct {
	Field      string
	Now, Would *string
}

func (a Change) equal(b Change) bool { return equal(a.Now, b.Now) && equal(a.Would, b.Would) }

func equal(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// conditionReason returns the reason that a condition would get, empty for anything else.
func (a Change) conditionReason() string {
	if !strings.HasPrefix(a.Field, conditionField) || a.Would == nil {
		return ""
	}
	_, reason, _ := strings.Cut(*a.Would, ",")
	return reason
}

// fields returns what the daemon writes of a Node, by a name of each field. A field that is not
// there is not in the result. The values are fit to be shown.
func fields(n *v1.Node) map[string]string {
	all := map[string]string{}
	for key, value := range n.Labels {
		all["label "+quote.Plain(key)] = quote.Plain(value)
	}
	for key, value := range n.Annotations {
		all["annotation "+quote.Plain(key)] = quote.Plain(value)
	}
	for _, t := range n.Spec.Taints {
		value := string(t.Effect)
		if t.Value != "" {
			value = t.Value + ":" + value
		}
		add(all, "taint "+quote.Plain(t.Key), value)
	}
	if n.Spec.ProviderID != "" {
		all["provider ID"] = quote.Plain(n.Spec.ProviderID)
	}
	for _, a := range n.Status.Addresses {
		add(all, "address "+quote.Plain(string(a.Type)), a.Address)
	}
	for _, c := range n.Status.Conditions {
		value := string(c.Status)
		if c.Reason != "" {
			value += "," + c.Reason
		}
		all[conditionField+quote.Plain(string(c.Type))] = quote.Plain(value)
	}
	return all
}

// add adds a value to those that a field has already.
func add(all map[string]string, field, value string) {
	value = quote.Plain(value)
	if before, there := all[field]; there {
		value = before + "," + value
	}
	all[field] = value
}

// differences returns what differs between a Node as it is and as it would be.
func differences(now, would *v1.Node) []Change {
	var all []Change
	before, after := fields(now), fields(would)
	for field, value := range before {
		if then, there := after[field]; !there || then != value {
			all = append(all, Change{Field: field, Now: &value, Would: pointer(after, field)})
		}
	}
	for field, value := range after {
		if _, there := before[field]; !there {
			all = append(all, Change{Field: field, Would: &value})
		}
	}
	if !equality.Semantic.DeepEqual(others(now), others(would)) {
		differs := "different"
		all = append(all, Change{Field: otherFields, Would: &differs})
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
	return all
}

func pointer(all map[string]string, field string) *string {
	if value, there := all[field]; there {
		return &value
	}
	return nil
}

// others returns a Node without what fields shows, and without what the API server notes itself.
func others(n *v1.Node) *v1.Node {
	n = n.DeepCopy()
	n.TypeMeta = metav1.TypeMeta{}
	n.Labels, n.Annotations, n.ManagedFields, n.Generation, n.ResourceVersion = nil, nil, nil, 0, ""
	n.Spec.Taints, n.Spec.ProviderID = nil, ""
	n.Status.Addresses, n.Status.Conditions = nil, nil
	return n
}
