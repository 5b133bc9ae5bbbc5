package addresses

import (
	v1 "k8s.io/api/core/v1"

	"vzones/vcenter/inventory"
)

// hostName returns the Node's Hostname, empty if no name is valid: the Hostname that the Node was initialized with,
// the guest's host name, or one of the Node's own names. So the guest, whose host name changes while it starts, decides
// only once.
func (in *Input) hostName() string {
	for _, name := range append([]string{hostNameIn(in.Has), in.HostName}, in.OwnNames...) {
		if inventory.IsHostName(name) {
			return name
		}
	}
	return ""
}

// hostNameIn returns the first Hostname among addresses, empty if there is none.
func hostNameIn(all []v1.NodeAddress) string {
	for _, a := range all {
		if a.Type == v1.NodeHostName {
			return a.Address
		}
	}
	return ""
}
