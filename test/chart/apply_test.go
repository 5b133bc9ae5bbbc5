package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
)

// definitions maps modules pinned by .ci/crds to the files of the CustomResourceDefinitions that the
// chart and its examples use.
var definitions = map[string][]string{
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
	"sigs.k8s.io/cluster-api": {"core/config/crd/bases/addons.cluster.x-k8s.io_clusterresourcesets.yaml"},
}

// define applies the definitions.
func define(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for module, files := range definitions {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
		cmd.Dir = filepath.Join(helm.Root(), ".ci", "crds")
		dir, err := cmd.Output()
		if err != nil || len(bytes.TrimSpace(dir)) == 0 {
			t.Skipf("left out: %s is not there: make helm fetches it (%v)", module, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(dir)), file))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Apply(t.Context(), content, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// inComment returns the YAML in an example's comment, from the given line on.
func inComment(t *testing.T, example, from string) []byte {
	t.Helper()
	content, err := os.ReadFile(helm.Example(example))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(content), "\n#   "+from)
	if !ok {
		t.Fatalf("%s has no %s", example, from)
	}
	var text strings.Builder
	text.WriteString(from)
	for line := range strings.Lines(rest) {
		inside, ok := strings.CutPrefix(line, "#   ")
		if !ok && text.Len() > len(from) && strings.TrimSpace(line) != "" {
			break
		}
		text.WriteString(inside)
		if !ok {
			text.WriteString("\n")
		}
	}
	return []byte(text.String())
}

// TestExamplesAreApplied: the API server accepts every example, including the Prometheus operator's
// types without unknown fields, and the ClusterResourceSet made from an example.
func TestExamplesAreApplied(t *testing.T) {
	c := start(t)
	define(t, c)
	openshift, err := os.ReadFile(helm.Example("openshift"))
	if err != nil {
		t.Fatal(err)
	}
	// The example's comment contains the commands to run before the installation.
	before, _, _ := strings.Cut(string(openshift), "#   helm install ")
	for line := range strings.Lines(before) {
		if command, ok := strings.CutPrefix(line, "#   "); ok {
			mustEnter(t, c, t.TempDir(), command)
		}
	}
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, name)
			if err := c.Apply(t.Context(), rendered, nil); err != nil {
				t.Errorf("applying the rendered chart: %v\n%s", err, rendered)
			}
		})
	}
	everything := render(t, "openshift", `
dashboard: {enabled: true, annotations: {folder: vzones}}
serviceMonitor: {tokenSecretName: metrics-token, prometheus: {name: vzones-metrics, namespace: vzones}}
prometheusRule: {runbookURLPrefix: "https://git.example.com/vzones/blob/v1.37.0"}
commonLabels: {team: platform}
imagePullSecrets: [{name: registry}]
image: {repository: registry.example.com/vzones, tag: v1.37.0, digest: "sha256:`+strings.Repeat("ab", 32)+`", pullPolicy: Always}
extraArgs: [--tag-refresh=1m]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com"}]
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
workload: {updateStrategy: {type: Recreate}, labels: {a: b}, annotations: {a: b}, podLabels: {a: b}, podAnnotations: {a: b}}
serviceAccount: {annotations: {a: b}}
leaderElection: {resourceName: vzones, resourceNamespace: vzones, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 1s}
`)
	if err := c.Apply(t.Context(), everything, nil); err != nil {
		t.Errorf("with everything: %v\n%s", err, everything)
	}
	for right, wrong := range map[string]string{"hostNetwork: true": "hostNetwrk: true", "insecureSkipVerify: true": "insecureSkipVerfy: true"} {
		if !bytes.Contains(everything, []byte(right)) {
			t.Fatalf("there is no %s", right)
		}
		if err := c.Apply(t.Context(), bytes.ReplaceAll(everything, []byte(right), []byte(wrong)), nil); err == nil {
			t.Errorf("the API server takes %s: nothing was shown", wrong)
		}
	}

	set := inComment(t, "cluster-api", "apiVersion: addons.cluster.x-k8s.io/v1beta2")
	if err := c.Apply(t.Context(), set, nil); err != nil {
		t.Errorf("applying the ClusterResourceSet of the example cluster-api: %v\n%s", err, set)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "vzones", Namespace: "default"}, Type: "addons.cluster.x-k8s.io/resource-set",
		Data: map[string][]byte{"vzones.yaml": render(t, "cluster-api")},
	}
	if _, err := c.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
