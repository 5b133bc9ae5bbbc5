package main

import (
	"bytes"
	"strings"
	"testing"

	"vzones/cmd/vzones/cli"
)

// TestPlugin: named as a plugin, usage and examples are what kubectl runs.
func TestPlugin(t *testing.T) {
	for program, want := range map[string]string{"/usr/bin/kubectl-vzones": "kubectl vzones nodes", `kubectl-vzones.exe`: "kubectl vzones nodes", "/bin/vzones": "vzones nodes"} {
		root := (&tool{&cli.Tool{}}).command()
		asPlugin(root, program)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs([]string{"nodes", "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"\n  " + want + " [NODE…] [flags]\n", "\n  " + want + " -c vsphere.yaml\n"} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%s: no line %q in %s", program, line, out.String())
			}
		}
	}
}
