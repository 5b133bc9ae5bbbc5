package operator

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// apply creates or changes objects and deletes them when the script ends.
func apply(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	manifest := []byte(ts.ReadFile(singleArgument(ts, args, "apply FILE")))
	ts.Defer(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		if err := s.Cluster.Delete(ctx, manifest); err != nil {
			ts.Logf("%v", err)
		}
	})
	ctx := bounded(ts)
	ts.Check(s.Cluster.Apply(ctx, manifest, nil))
}

func deleteObjects(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	ctx := bounded(ts)
	ts.Check(s.Cluster.Delete(ctx, []byte(ts.ReadFile(singleArgument(ts, args, "delete FILE")))))
}

func singleArgument(ts *testscript.TestScript, args []string, usage string) string {
	if len(args) != 1 {
		ts.Fatalf("usage: %s", usage)
	}
	return args[0]
}

func relabel(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: relabel NODE [--field-manager=NAME] KEY=VALUE|KEY-…")
	}
	labels := map[string]any{}
	var options metav1.PatchOptions
	for _, arg := range args[1:] {
		key, value, ok := strings.Cut(arg, "=")
		switch {
		case key == "--field-manager":
			options.FieldManager = value
		case ok:
			labels[key] = value
		default:
			labels[strings.TrimSuffix(arg, "-")] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	ts.Check(err)
	ctx := bounded(ts)
	_, err = needStack(ts).Client.CoreV1().Nodes().Patch(ctx, args[0], types.MergePatchType, patch, options)
	ts.Check(err)
}

func account(ts *testscript.TestScript, _ bool, args []string) {
	ctx := bounded(ts)
	path, err := needStack(ts).Cluster.ServiceAccountKubeconfig(ctx, metav1.NamespaceDefault, singleArgument(ts, args, "account NAME"))
	ts.Check(err)
	ts.Setenv("KUBECONFIG", path)
}
