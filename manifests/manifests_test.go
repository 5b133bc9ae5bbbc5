package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func daemonSet(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(Plain), 4096)
	for {
		var d appsv1.DaemonSet
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			t.Fatal("the manifest has no DaemonSet")
		} else if err != nil {
			t.Fatal(err)
		}
		if d.Kind == "DaemonSet" {
			return &d
		}
	}
}

// TestPod: the image is one version, and nothing unnecessary is open or set.
func TestPod(t *testing.T) {
	pod := daemonSet(t).Spec.Template.Spec
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Error("Services set variables that look like the daemon's settings: enableServiceLinks is not false")
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if !regexp.MustCompile(`(:v\d+\.\d+\.\d+|@sha256:[0-9a-f]{64})$`).MatchString(c.Image) {
			t.Errorf("the image %s is not of one version", c.Image)
		}
		if !slices.Contains(c.Args, "--profiling=false") {
			t.Errorf("the port has profiling: %q", c.Args)
		}
		if s := c.SecurityContext; s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("the container may do more than it needs: %+v", s)
		}
	}
}

// TestMemoryLimit: the garbage collector acts before the kernel ends the daemon.
func TestMemoryLimit(t *testing.T) {
	for _, c := range daemonSet(t).Spec.Template.Spec.Containers {
		limit := c.Resources.Limits.Memory().Value()
		i := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
		if i < 0 {
			t.Fatalf("container %s has no GOMEMLIMIT beside its limit of %d bytes", c.Name, limit)
		}
		own, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
		if err != nil || own.Value() < limit*8/10 || own.Value() > limit*9/10 {
			t.Errorf("GOMEMLIMIT=%s (%v), want 80 to 90 %% of the limit of %d bytes", c.Env[i].Value, err, limit)
		}
	}
}

// TestLinksOfTheChart: the chart's package contains everything that its README links to.
func TestLinksOfTheChart(t *testing.T) {
	text, err := os.ReadFile("chart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllSubmatch(text, -1)
	for _, link := range links {
		target := string(link[1])
		if _, err := os.Stat(filepath.Join("chart", target)); err != nil || !filepath.IsLocal(target) {
			t.Errorf("%s is not in the chart: %v", target, err)
		}
	}
	if len(links) == 0 {
		t.Error("there are no links")
	}
}

// TestEachAlertIsTested: alerts_test.yaml has series for which each alert fires, and series for which
// it does not.
func TestEachAlertIsTested(t *testing.T) {
	rules, err := os.ReadFile("chart/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("chart/files/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(rules, -1)
	for _, alert := range alerts {
		for _, start := range []string{"- name: %s fires", `- name: "%s does not fire: `} {
			name := fmt.Sprintf(start, alert[1])
			if !bytes.Contains(tests, []byte("\n"+name)) {
				t.Errorf("alerts_test.yaml has no test %s…", name)
			}
		}
	}
	if len(alerts) == 0 {
		t.Error("alerts.yaml has no alerts")
	}
}
