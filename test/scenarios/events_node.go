package scenarios

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/test/cluster"
	"vzones/test/fleet"
)

// nodeCommands do what kubelets and the control plane do.
func nodeCommands() []command {
	return []command{
		{"node create NODE… [swapped] [machine=VM] [uuid=UUID] [provider-id=ID] [node-ip=IP]",
			"registers Nodes as the kubelets of the machines of these names do; `swapped`: with the system UUID in the other byte order; " +
				"`machine=`: of a machine of another name; `uuid=`: with that system UUID, whether or not a machine has it, or with none at all (`uuid=none`); " +
				"`provider-id=`, `node-ip=`: as with these flags of the kubelet", createNodes},
		{"node ready NODE…", "lets kubelets report that all is well", setReady(v1.ConditionTrue)},
		{"node unknown NODE…", "marks Nodes as the control plane does when kubelets are silent", setReady(v1.ConditionUnknown)},
		{"node delete NODE…", "deletes Nodes", func(a *arguments) action {
			return onNodes(a.nodes(), func(ctx context.Context, w *world, name string) error {
				if err := w.stack.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
					return err
				}
				return w.see(ctx, name, "")
			})
		}},
	}
}

// A registration is what the script made of a Node.
type registration struct {
	name string
	uid  types.UID
	// providerID is that of the machine that it was made for, if any.
	providerID string
}

func setReady(status v1.ConditionStatus) func(*arguments) action {
	return func(a *arguments) action {
		return onNodes(a.nodes(), func(ctx context.Context, w *world, name string) error {
			return w.stack.Cluster.SetNodeReady(ctx, name, status)
		})
	}
}

func onNodes(patterns []string, do func(context.Context, *world, string) error) action {
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if err := do(ctx, w, n.name); err != nil {
				return err
			}
		}
		return nil
	}
}

// kubelet is what a line says about the Nodes that it creates.
type kubelet struct {
	swapped                         bool
	machine, uuid, providerID, node string
}

func createNodes(a *arguments) action {
	var k kubelet
	var names []string
	options := map[string]*string{"machine": &k.machine, "uuid": &k.uuid, "provider-id": &k.providerID, "node-ip": &k.node}
	for _, word := range a.rest() {
		key, value, assigned := strings.Cut(word, "=")
		switch {
		case word == "swapped":
			k.swapped = true
		case assigned && options[key] != nil && value != "":
			*options[key] = value
		case assigned:
			a.fail("%q is unknown of a Node", word)
		case isCondition(word):
			a.fail("a Node cannot be called %q: that is a condition", word)
		default:
			names = append(names, word)
		}
	}
	if len(names) == 0 {
		a.fail("NODE is missing")
	}
	if len(names) > 1 && (k.machine != "" || k.uuid != "" && k.uuid != "none") {
		a.fail("several Nodes of one machine")
	}
	a.p.nodes = append(a.p.nodes, names...)
	return func(ctx context.Context, w *world) error {
		for _, name := range names {
			if err := w.create(ctx, name, k); err != nil {
				return err
			}
		}
		return nil
	}
}

// create registers a Node, or one for each machine that a pattern fits.
func (w *world) create(ctx context.Context, name string, k kubelet) error {
	if k.uuid != "" && k.uuid != "none" {
		return w.register(ctx, cluster.NodeSpec{Name: name, SystemUUID: k.uuid, ProviderID: k.providerID, ProvidedIP: k.node}, "")
	}
	pattern := name
	if k.machine != "" {
		pattern = k.machine
	}
	machines, err := w.machinesNamed(pattern)
	if err != nil {
		return err
	}
	if k.machine == "" {
		for _, m := range machines {
			if err := w.register(ctx, k.spec(m.Name, m), m.ProviderID()); err != nil {
				return err
			}
		}
		return nil
	}
	if len(machines) > 1 {
		return fmt.Errorf("the fleet has %d machines %q", len(machines), k.machine)
	}
	return w.register(ctx, k.spec(name, machines[0]), machines[0].ProviderID())
}

func (k kubelet) spec(name string, m fleet.Machine) cluster.NodeSpec {
	s := cluster.NodeSpec{Name: name, SystemUUID: m.UUID, ProviderID: k.providerID, ProvidedIP: k.node}
	if k.swapped {
		s.SystemUUID = m.SwappedUUID()
	}
	if k.uuid == "none" {
		s.SystemUUID = ""
	}
	return s
}

func (w *world) register(ctx context.Context, spec cluster.NodeSpec, providerID string) error {
	node, err := w.stack.Cluster.CreateNode(ctx, spec.Node())
	if err != nil {
		return err
	}
	w.nodes[spec.Name] = &registration{name: spec.Name, uid: node.UID, providerID: providerID}
	return w.see(ctx, spec.Name, node.UID)
}
