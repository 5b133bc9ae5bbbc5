package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology/quote"
)

const (
	// labelType is the label of a Node's instance type. It has a beta twin.
	labelType = v1.LabelInstanceTypeStable
	// ourTypes is how the instance types begin that vzones and the vSphere CPI write.
	// Any other was chosen by somebody else, and stays.
	ourTypes = "vsphere-vm."
)

// followType plans for the label of a Node's instance type, which does not depend on
// where the Node is. An instance type that differs never taints the Node: it is no
// reason to keep Pods away.
func (p *policy) followType(out *plan, node *v1.Node, place *Place, before []timed, now time.Time) {
	d, differs := compareType(node, place)
	switch {
	case !differs:
		return
	case d.missing:
		if p.Backfill {
			out.write(ActionBackfill, d)
		}
		return
	}
	since := beganAt(d, before, now)
	out.resized = []timed{{d, since}}
	end := since.Add(p.Settle)
	switch {
	case end.After(now):
		if out.due.IsZero() || end.Before(out.due) {
			out.due = end
		}
	case p.Drift == config.DriftUpdate:
		out.write(ActionUpdate, d)
	}
}

// compareType returns how the label of a Node's instance type differs from what its
// machine is. One that cannot be read differs from nothing, and a former name of the
// same type is kept: that a guest system has got a name is no news of the machine.
func compareType(node *v1.Node, place *Place) (difference, bool) {
	if place.Machine == nil || place.InstanceType == "" {
		return difference{}, false
	}
	d := difference{
		label: labelType, want: place.InstanceType,
		source: fmt.Sprintf("the configuration of vCenter %q %s", place.Machine.Ref.VCenter, quote.Name(place.Machine.InventoryPath)),
	}
	there, differs, former := 0, false, false
	keys := twins(labelType)
	for _, key := range keys {
		have, ok := node.Labels[key]
		if !ok {
			continue
		}
		there++
		if !strings.HasPrefix(have, ourTypes) {
			return difference{}, false
		}
		switch {
		case have == d.want || differs:
		case have == place.FormerType:
			former = true
		default:
			d.have, differs = have, true
		}
	}
	if former && !differs {
		d.want = place.FormerType // for a key that is missing
	}
	d.missing = !differs && there < len(keys)
	return d, differs || d.missing
}

// tellType tells of an instance type that has differed for long enough and is not
// about to be written. It returns when it will, zero if nothing is to be told.
func (c *Controller) tellType(ctx context.Context, n *v1.Node, k *known, by *policy, place *Place, todo *plan) time.Time {
	if len(todo.resized) == 0 {
		if place.InstanceType != "" { // or nothing is known to be right again
			delete(k.said, reasonTypeDrift)
		}
		return time.Time{}
	}
	d := todo.resized[0]
	if by.Drift == config.DriftUpdate || d.since.Add(by.Settle).After(time.Now()) {
		return time.Time{}
	}
	const advice = "; it stays as it is: correct it, or set topology.drift to update in the configuration"
	return c.say(ctx, n, k, reasonTypeDrift, reasonTypeDrift, d.text()+advice)
}
