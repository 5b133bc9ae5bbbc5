package nodes

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A cell contains all taints and addresses of a Node, quoted.
func TestManyValues(t *testing.T) {
	n := Node{Name: "n", Taints: []string{
		"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/not-ready:NoExecute", "odd\x1b[2J:NoSchedule",
	}}
	var addresses []string
	for i := range 8 {
		addresses = append(addresses, fmt.Sprintf("2001:db8:1234:5678:9abc::%d", i))
		n.Addresses = append(n.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: addresses[i]})
	}
	cells := listOf([]Node{n}, nil).Rows[0].Cells
	for _, want := range []string{strings.Join(addresses, ","), strings.Join(n.Taints[:3], ",") + `,"odd\x1b[2J:NoSchedule"`} {
		if !strings.Contains(strings.Join(cells, " "), " "+want+" ") {
			t.Errorf("no cell is %s: %q", want, cells)
		}
	}
}
