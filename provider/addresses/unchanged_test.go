package addresses

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// TestUnchanged: what the framework's own controller does with the same is
// tested in package provider.
func TestUnchanged(t *testing.T) {
	host := v1.NodeAddress{Type: v1.NodeHostName, Address: "node-1"}
	in := func(a string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: a} }
	ex := func(a string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeExternalIP, Address: a} }
	type list = []v1.NodeAddress
	for _, c := range []struct {
		name     string
		has      list
		provided string // "": no annotation
		chosen   list
		want     bool
	}{
		{"the same", list{host, in("10.0.0.1"), ex("10.0.0.1")}, "", list{host, in("10.0.0.1"), ex("10.0.0.1")}, true},
		{"the types in another order", list{in("10.0.0.1"), host, ex("10.0.0.1")}, "", list{host, in("10.0.0.1"), ex("10.0.0.1")}, true},
		{"another address", list{host, in("10.0.0.1")}, "", list{host, in("10.0.0.2")}, false},
		{"one more", list{host, in("10.0.0.1")}, "", list{host, in("10.0.0.1"), in("fd00::1")}, false},
		{"one fewer", list{host, in("10.0.0.1"), ex("10.0.0.1")}, "", list{host, in("10.0.0.1")}, false},
		{"the families in another order", list{in("10.0.0.1"), in("fd00::1")}, "", list{in("fd00::1"), in("10.0.0.1")}, false},
		{"the Node's own host name", list{host, in("10.0.0.1")}, "", list{in("10.0.0.1")}, true},
		{"another host name", list{host, in("10.0.0.1")}, "", list{{Type: v1.NodeHostName, Address: "x"}, in("10.0.0.1")}, false},
		{"the kubelet's alone remains", list{in("10.0.0.1"), host}, "10.0.0.1", list{host, in("10.0.0.1"), in("fd00::1")}, true},
		{"the kubelet's is refused", list{in("10.0.0.1"), host}, "10.0.0.9", list{host, in("10.0.0.1")}, false},
		{"nothing there yet", nil, "", list{host, in("10.0.0.1")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &v1.Node{Status: v1.NodeStatus{Addresses: c.has}}
			if c.provided != "" {
				n.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: c.provided}
			}
			if got := Unchanged(n, c.chosen); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
