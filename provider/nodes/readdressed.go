package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// reasonReaddressed is the reason of the Event about an initialized Node whose addresses changed.
const reasonReaddressed = "AddressesChanged"

// firstAddresses is for how long after its initialization a Node may get addresses in addition
// without an Event: they are written after the taint is gone.
const firstAddresses = time.Minute

// readdressing says how the IPs of a Node have changed, empty if they have not.
func readdressing(before, now []v1.NodeAddress) string {
	ips := func(all []v1.NodeAddress, kind v1.NodeAddressType) string {
		var of []string
		for _, a := range all {
			if a.Type == kind {
				of = append(of, a.Address)
			}
		}
		return cmp.Or(strings.Join(of, " and "), "none")
	}
	var changes []string
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		if was, is := ips(before, kind), ips(now, kind); was != is {
			changes = append(changes, fmt.Sprintf("%s was %s and is %s now", kind, was, is))
		}
	}
	return strings.Join(changes, ", ")
}

// recordReaddressed has an Event say that the IPs of an initialized Node have changed, whoever has
// written them. It returns when it has to be called again.
func (c *Controller) recordReaddressed(n *v1.Node, r *record) time.Duration {
	was, is := r.addresses, n.Status.Addresses
	if change := readdressing(was, is); was != nil && change != "" && !c.getsFirst(r, was, is) {
		if wait := c.eventWait(r); wait > 0 {
			return wait
		}
		c.events.Event(n, v1.EventTypeNormal, reasonReaddressed, "The addresses of the Node have changed: "+change+"; vzones explain "+n.Name+" says why each was chosen")
	}
	r.addresses = append([]v1.NodeAddress{}, is...)
	return 0
}

// getsFirst reports whether a Node gets addresses for the first time or, just initialized, in addition.
func (c *Controller) getsFirst(r *record, was, is []v1.NodeAddress) bool {
	isIP := func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP }
	if !slices.ContainsFunc(was, isIP) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(r.initialized) < firstAddresses &&
		!slices.ContainsFunc(was, func(a v1.NodeAddress) bool { return isIP(a) && !slices.Contains(is, a) })
}
