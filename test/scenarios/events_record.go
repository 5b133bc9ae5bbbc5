package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/nodeinfo"
)

// recordCommands change what Nodes record of their machines.
func recordCommands() []command {
	return []command{
		{"node unrecord NODE…", "takes the annotations `vzones/machine` and `vzones/vcenter` off Nodes, as a backup of Nodes without them does", func(a *arguments) action {
			return onNodes(a.nodes(), unrecord)
		}},
		{"node record NODE VM", "writes `vzones/machine` onto a Node as its kubelet may, and `vzones/vcenter` off it: it names that machine; `text=TEXT` instead of VM: it is that text", record},
		{"node rebuilt NODE VM", "lets the kubelet of another machine take over a Node, as when a machine is rebuilt under its old name: the Node has that machine's system UUID from then on; " +
			"`none` instead of VM: the kubelet reports no UUID", rebuilt},
	}
}

func record(a *arguments) action {
	node, what := a.node(), a.word("VM")
	return onNodes([]string{node}, func(ctx context.Context, w *world, name string) error {
		value, literal := strings.CutPrefix(what, "text=")
		if !literal {
			found, err := w.machinesNamed(what)
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("the fleet has %d machines %q", len(found), what)
			}
			value = found[0].VCenter + "/" + found[0].MoID
		}
		return annotate(ctx, w, name, map[string]any{nodeinfo.KeyMachine: value, nodeinfo.KeyVCenter: nil})
	})
}

func unrecord(ctx context.Context, w *world, name string) error {
	return annotate(ctx, w, name, map[string]any{nodeinfo.KeyMachine: nil, nodeinfo.KeyVCenter: nil})
}

func annotate(ctx context.Context, w *world, name string, annotations map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	_, err = w.stack.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func rebuilt(a *arguments) action {
	node, machine := a.node(), a.word("VM")
	return onNodes([]string{node}, func(ctx context.Context, w *world, name string) error {
		uuid := ""
		if machine != none {
			found, err := w.machinesNamed(machine)
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("the fleet has %d machines %q", len(found), machine)
			}
			uuid = found[0].UUID
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"nodeInfo": map[string]any{"systemUUID": uuid}}})
		if err != nil {
			return err
		}
		_, err = w.stack.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}
