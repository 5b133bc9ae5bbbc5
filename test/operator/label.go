package operator

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// label sets labels of a Node.
func label(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: label NODE KEY=VALUE…")
	}
	labels := map[string]string{}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		labels[key] = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	_, err = needStack(ts).Client.CoreV1().Nodes().Patch(ctx, args[0], types.MergePatchType, patch, metav1.PatchOptions{})
	ts.Check(err)
}
