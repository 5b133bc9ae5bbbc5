package takeover

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestConvertedValuesRender: vzones' chart takes all values that vzones convert makes of those
// of the CPI's charts, and refuses only those that name no configuration.
func TestConvertedValuesRender(t *testing.T) {
	helm := filepath.Join("..", "..", "bin", "tools", "helm")
	if _, err := os.Stat(helm); err != nil {
		t.Skipf("%v; make helm builds it", err)
	}
	var files []txtar.File
	for _, name := range []string{"convert-chart.txtar", "convert-chart-corners.txtar"} {
		archive, err := txtar.ParseFile(filepath.Join("..", "..", "cmd", "vzones", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archive.Files...)
	}
	dir, count := t.TempDir(), 0
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name, "-values.yaml")
		if !ok {
			continue
		}
		count++
		args := []string{"template", "vzones", filepath.Join("..", "..", "manifests", "chart"), "--namespace=kube-system", "-f", filepath.Join(dir, f.Name)}
		if credentials := filepath.Join(dir, name+"-credentials.yaml"); exists(credentials) {
			args = append(args, "-f", credentials)
		}
		out, err := exec.CommandContext(t.Context(), helm, args...).CombinedOutput()
		switch {
		case name == "rancher-synced", name == "variables-unknown":
			if err == nil || !strings.Contains(string(out), "config.vcenter is empty") {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		case err != nil:
			t.Errorf("%s: %v\n%s", name, err, out)
		case strings.Contains(string(out), `node-role.kubernetes.io/control-plane: ""`):
			t.Errorf("%s: the Pods are only on Nodes that vzones' chart selects\n%s", name, out)
		}
	}
	if count < 17 {
		t.Errorf("only %d values files", count)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
