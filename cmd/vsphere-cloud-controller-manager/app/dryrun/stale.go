package dryrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vzones/provider/condition"
	"vzones/provider/nodestate"
)

// listTimeout bounds the reading of all Nodes.
const listTimeout = time.Minute

// list returns the Nodes by their names.
func list(ctx context.Context, client kubernetes.Interface) (map[string]*v1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Nodes at the end, so that the table may have some that are gone: %w", err)
	}
	is := make(map[string]*v1.Node, len(all.Items))
	for i := range all.Items {
		is[all.Items[i].Name] = &all.Items[i]
	}
	return is, nil
}

// compareWith leaves out Nodes that are gone and fields that have the value that they would get,
// and gives the others the value that they have: the provider that leads, or somebody else, has
// written them since.
func (r *report) compareWith(is map[string]*v1.Node) {
	for name, c := range r.changed {
		n := is[name]
		if n == nil || c.uid != "" && c.uid != n.UID {
			delete(r.changed, name)
			continue
		}
		all := fields(n)
		for field, ch := range c.fields {
			if field == otherFields {
				continue
			}
			ch.Now = pointer(all, field)
			c.fields[field] = ch
		}
		if c.deleted && nodestate.IsReady(n) { // no such Node is deleted
			c.deleted = false
			r.changed[name] = c
		}
		maps.DeleteFunc(c.fields, func(_ string, ch Change) bool { return equal(ch.Now, ch.Would) })
	}
	r.warnings = slices.DeleteFunc(r.warnings, func(w warning) bool { return w.node != "" && is[w.node] == nil })
}

// endOutages leaves out what said that a vCenter cannot be read, once each is read.
func (r *report) endOutages() {
	for _, c := range r.changed {
		maps.DeleteFunc(c.fields, func(_ string, ch Change) bool { return condition.IsOutage(ch.conditionReason()) })
	}
	r.warnings = slices.DeleteFunc(r.warnings, func(w warning) bool { return w.node != "" && condition.IsOutage(w.reason) })
}
