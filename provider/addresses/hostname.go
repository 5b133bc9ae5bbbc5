package addresses

import (
	v1 "k8s.io/api/core/v1"

	"vzones/vcenter/inventory"
)

// hostName returns the Node's Hostname: the one it was initialized with, else the guest's host name, else one of
// OwnNames, whichever is first valid; empty if none is. The guest's name changes while it boots, so it decides only once.
func (in *Input) hostName() string {
	for _, name := range append([]string{hostNameIn(in.Has), in.HostName}, in.OwnNames...) {
		if inventory.IsHostName(name) {
			return name
		}
	}
	return ""
}

func hostNameIn(all []v1.NodeAddress) string {
	for _, a := range all {
		if a.Type == v1.NodeHostName {
			return a.Address
		}
	}
	return ""
}
