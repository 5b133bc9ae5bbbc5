package addresses

import (
	v1 "k8s.io/api/core/v1"

	"vzones/vcenter/inventory"
)

// hostName returns the first valid name among the Hostname of an initialized Node, the guest's host name and OwnNames. So
// the guest's name, which changes while it boots, decides only once.
func (input *Input) hostName() string {
	for _, name := range append([]string{hostNameIn(input.Current), input.HostName}, input.OwnNames...) {
		if inventory.IsHostName(name) {
			return name
		}
	}
	return ""
}

func hostNameIn(addrs []v1.NodeAddress) string {
	for _, a := range addrs {
		if a.Type == v1.NodeHostName {
			return a.Address
		}
	}
	return ""
}
