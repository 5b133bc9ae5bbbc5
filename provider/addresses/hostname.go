package addresses

import (
	v1 "k8s.io/api/core/v1"

	"vzones/vcenter/inventory"
)

// hostName prefers the Hostname of an initialized Node, since the guest's name changes while it boots.
func (input *Input) hostName() string {
	for _, name := range append([]string{input.InitialHostName, HostNameIn(input.Current), input.HostName}, input.OwnNames...) {
		if inventory.IsHostName(name) {
			return name
		}
	}
	return ""
}

// HostNameIn returns the Hostname among addresses, or "".
func HostNameIn(addrs []v1.NodeAddress) string {
	for _, a := range addrs {
		if a.Type == v1.NodeHostName {
			return a.Address
		}
	}
	return ""
}
