package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/test/cluster"
)

// waits matches commands that wait for a controller, which these tests do not run, or for an editor.
var waits = regexp.MustCompile(` (rollout status|edit) `)

// TestNotes: the commands in the notes of an installation name the objects of its release, so that they can be copied.
// They create the Secrets that the chart does not create, with the keys of their vCenters.
func TestNotes(t *testing.T) {
	const image = "image: {repository: registry.example.com/vsphere-cloud-controller-manager}\n"
	c := start(t)
	mustEnter(t, c, t.TempDir(), "kubectl create namespace pilot",
		"kubectl -n pilot create configmap own-config --from-literal=vsphere.conf=", "kubectl -n pilot create secret generic own-config")
	for name, values := range map[string]string{
		"config": image + `
fullnameOverride: ccm
config:
  global: {secretName: shared, secretNamespace: pilot}
  vcenter:
    one: {server: vc-1.example.com}
    two: {server: "fd00::2"}
    three: {server: vc-3.example.com, secretName: third, secretNamespace: kube-system}
`,
		"existingConfigMap": image + `
existingConfigMap: own-config
workload: {kind: Deployment}
`,
		"configSecret": image + `
configSecret: {name: own-config, namespace: pilot}
`,
		"a shadow": image + `
fullnameOverride: ccm
shadow: {enabled: true}
workload: {kind: None}
rbac: {create: false}
serviceAccount: {create: false}
existingConfigMap: own-config
`,
	} {
		notes := installNotes(t, c, values)
		var commands []string
		for line := range strings.Lines(regexp.MustCompile(`\\\n\s*`).ReplaceAllString(notes, "")) {
			if command, ok := strings.CutPrefix(line, "  kubectl "); ok {
				command = toOthers.ReplaceAllString("kubectl "+strings.TrimSpace(command), "")
				commands = append(commands, waits.ReplaceAllString(command, " get "))
			}
		}
		if len(commands) < 4 {
			t.Errorf("with %s the notes have only these commands: %q", name, commands)
		}
		mustEnter(t, c, t.TempDir(), commands...)
		if name == "a shadow" && !slices.ContainsFunc(commands, func(command string) bool { return strings.Contains(command, "logs") }) {
			t.Errorf("no command shows the log of the shadow: %q", commands)
		}
		if name == "config" {
			for secret, want := range map[string][]string{
				"pilot shared":      {"password_2", "server_2", "username_2", "vc-1.example.com.password", "vc-1.example.com.username"},
				"kube-system third": {"vc-3.example.com.password", "vc-3.example.com.username"},
			} {
				out, err := enter(t, c, t.TempDir(), listKeys(secret))
				if err != nil {
					t.Errorf("reading the Secret %s: %v\n%s", secret, err, out)
				}
				got := strings.Fields(out)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("the Secret %s has the keys %q, want %q", secret, got, want)
				}
			}
		}
		mustEnter(t, c, t.TempDir(), "helm -n pilot uninstall zones")
	}
}

// listKeys returns the command that prints the keys of a Secret, given as "namespace name".
func listKeys(secret string) string {
	namespace, name, _ := strings.Cut(secret, " ")
	return "kubectl -n " + namespace + " get secret " + name + ` -o go-template='{{range $key, $value := .data}}{{$key}} {{end}}'`
}

// installNotes installs the release zones in the namespace pilot and returns the notes.
func installNotes(t *testing.T, c *cluster.Cluster, content string) string {
	t.Helper()
	out, err := helm.Run(t.Context(), "install", "zones", helm.Chart(), "--values", values(t, content),
		"--kubeconfig", c.AdminKubeconfig(), "--namespace", "pilot")
	if err != nil {
		t.Fatal(err)
	}
	_, notes, ok := strings.Cut(string(out), "NOTES:\n")
	if !ok {
		t.Fatalf("Helm printed no notes:\n%s", out)
	}
	return notes
}
