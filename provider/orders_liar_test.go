package provider

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
)

// A lie is a Node whose annotation names the unreadable machine of a vCenter, and whose
// provider ID is that of another Node, or of nobody if negative.
type lie struct {
	vcenter, of int
	silent      bool
}

// ghost is the managed object ID of the machine that liars claim, in each vCenter.
const ghost = "vm-666"

// lie registers a Node that claims an unreadable machine.
func (p *orderPlay) lie(i int) {
	l := p.lies[i]
	uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-66600000000%d", i)
	if l.of >= 0 {
		uuid = nodeUUID(l.of)
	}
	node := aNode(fmt.Sprint("liar-", i), withSystemUUID(uuid), withProviderID("vsphere://"+uuid))
	if l.silent {
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	}
	node.Annotations = map[string]string{nodeinfo.KeyMachine: vcenterName(l.vcenter) + "/" + ghost}
	if _, err := p.client.CoreV1().Nodes().Create(p.Context(), node, metav1.CreateOptions{}); err != nil {
		p.Error(err)
	}
}

// checkLies: a Node that claims a machine which may be its own is neither initialized nor
// deleted.
func (p *orderPlay) checkLies() {
	for i := range p.lies {
		n, err := p.client.CoreV1().Nodes().Get(context.Background(), fmt.Sprint("liar-", i), metav1.GetOptions{})
		if err != nil || !nodeinfo.IsUninitialized(n) {
			p.Errorf("liar-%d %+v: %v", i, p.lies[i], err)
		}
	}
}
