package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fixture"
)

// TestSecretOfTheCPIsReleaseIsKept: a Secret of the CPI's release that is annotated before the
// upgrade stays if the new values lack it, and the rollback adopts it. Without the annotation Helm
// deletes it.
func TestSecretOfTheCPIsReleaseIsKept(t *testing.T) {
	c := start(t)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"cpi/Chart.yaml": "{apiVersion: v2, name: vsphere-cpi, version: 1.0.0}\n",
		"cpi/templates/secret.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: vsphere-cloud-secret, namespace: {{ .Release.Namespace }}}, " +
			"stringData: {vc.example.com.username: u, vc.example.com.password: p}}\n",
		"values.yaml": fewValues,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(helm.Chart()), filepath.Join(dir, "manifests")); err != nil {
		t.Fatal(err)
	}
	isThere := func() bool {
		secret, err := c.Client().CoreV1().Secrets("kube-system").Get(t.Context(), "vsphere-cloud-secret", metav1.GetOptions{})
		return err == nil && string(secret.Data["vc.example.com.password"]) == "p"
	}
	const how = "how-to/migrate.md"
	lines := shellLines(t, how, "### If you installed the CPI with its chart")
	annotate := lines[0]
	render := toOthers.ReplaceAllString(lines[1], "")
	upgrade := lines[2]
	back := regexp.MustCompile("(?m)^To roll back: `(helm .* history .*)`, then `(helm .* rollback .*) REVISION`").FindStringSubmatch(fixture.Page(t, "docs/"+how))
	if back == nil {
		t.Fatalf("%s does not describe how to roll back", how)
	}
	mustEnter(t, c, dir, "helm -n kube-system install vsphere-cpi cpi")
	mustEnter(t, c, dir, annotate, render, upgrade)
	if !isThere() {
		t.Fatal("the upgrade has deleted the Secret")
	}
	mustEnter(t, c, dir, back[1], back[2]+" 1")
	if !isThere() {
		t.Error("the rollback has deleted the Secret")
	}
	mustEnter(t, c, dir, strings.Replace(annotate, "=keep", "-", 1), upgrade)
	if isThere() {
		t.Error("Helm keeps the Secret without the annotation, so that nobody needs to annotate it")
	}
}
