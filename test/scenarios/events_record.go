package scenarios

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/keys"
)

// recordCommands change what Nodes tell of their machines.
func recordCommands() []command {
	return []command{
		{"node unrecord NODE…", "takes the annotations `vzones/machine` and `vzones/vcenter` off Nodes, as a backup of Nodes without them does", func(a *arguments) action {
			return onNodes(a.nodes(), unrecord)
		}},
	}
}

func unrecord(ctx context.Context, w *world, name string) error {
	none := map[string]any{keys.Machine: nil, keys.VCenter: nil}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": none}})
	if err != nil {
		return err
	}
	_, err = w.stack.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
