package chart

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRunbookURLs: every alert's runbook_url starts with the prefix, with or without a trailing slash.
func TestRunbookURLs(t *testing.T) {
	for _, prefix := range []string{"https://git.example.com/vzones/blob/main", "https://git.example.com/vzones/blob/main/"} {
		out := render(t, "plain", "prometheusRule: {enabled: true, runbookURLPrefix: '"+prefix+"'}\n")
		const want = "https://git.example.com/vzones/blob/main/docs/"
		count := 0
		for _, o := range objects(t, out) {
			if o.GetKind() != "PrometheusRule" {
				continue
			}
			for line := range strings.Lines(string(out)) {
				if _, url, ok := strings.Cut(line, "runbook_url: "); ok {
					count++
					if !strings.HasPrefix(url, want) {
						t.Errorf("runbook_url: %s", url)
					}
				}
			}
		}
		if count == 0 {
			t.Error("no alert has a runbook")
		}
	}
}

// TestTokenOfTheServiceMonitor: the daemon's certificate is not verified, so Prometheus never sends
// its own token. The token is in a Secret, by default of an account that may only read /metrics.
func TestTokenOfTheServiceMonitor(t *testing.T) {
	const own = "vsphere-cloud-controller-manager-metrics"
	for values, want := range map[string]struct {
		secret string
		made   bool
		reader string
	}{
		"serviceMonitor: {enabled: true}\n":                                                                                                {own, true, own},
		"serviceMonitor: {enabled: true}\nrbac: {create: false}\n":                                                                         {own, true, ""},
		"serviceMonitor: {enabled: true, tokenSecretName: metrics-token}\n":                                                                {"metrics-token", false, ""},
		"serviceMonitor: {enabled: true, tokenSecretName: metrics-token, prometheus: {name: scraper, namespace: monitoring}}\n":            {"metrics-token", false, "scraper"},
		"serviceMonitor: {enabled: true}\nkubeconfig: {secretName: k}\nrbac: {create: false}\ncredentials: {vsphere-cloud-secret: null}\n": {"", false, ""},
	} {
		out := render(t, "plain", values)
		secret := ""
		reader := ""
		made := 0
		for _, o := range objects(t, out) {
			switch {
			case o.GetKind() == "ServiceMonitor":
				endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
				endpoint := endpoints[0].(map[string]any)
				secret, _, _ = unstructured.NestedString(endpoint, "authorization", "credentials", "name")
				if endpoint["bearerTokenFile"] != nil {
					t.Errorf("%s: Prometheus' own token is sent", values)
				}
			case o.GetKind() == "ClusterRoleBinding" && strings.HasSuffix(o.GetName(), ":metrics-reader"):
				subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
				reader, _ = subjects[0].(map[string]any)["name"].(string)
			case o.GetName() == own:
				made++ // the ServiceAccount and the Secret
			}
		}
		if secret != want.secret || reader != want.reader || made != map[bool]int{true: 2}[want.made] {
			t.Errorf("%s: the token is that of %q, %d objects are made, and %q may read, want %+v", values, secret, made, reader, want)
		}
	}
}

// TestThePortIsLocal: the port is local, where the probes connect, unless a value requires access from
// elsewhere.
func TestThePortIsLocal(t *testing.T) {
	const local = "- --bind-address=127.0.0.1\n"
	for values, want := range map[string]bool{
		"":                                      true,
		"serviceMonitor: {enabled: true}\n":     false,
		"hostNetwork: false\n":                  false,
		"extraArgs: [--bind-address=0.0.0.0]\n": false,
		"extraArgs: [--bind_address=::]\n":      false,
		"prometheusRule: {enabled: true}\n":     true,
		"extraArgs: [--v=1]\nworkload: {kind: Deployment}\n": true,
	} {
		out := string(render(t, "plain", values))
		if got := strings.Contains(out, local); got != want {
			t.Errorf("%q: bound to 127.0.0.1 is %t, want %t", values, got, want)
		}
		if probes := strings.Count(out, "host: 127.0.0.1, path: "); want && probes != 2 {
			t.Errorf("%q: %d probes ask 127.0.0.1, want 2", values, probes)
		}
	}
}

// TestAPodIsSoonReady: with the kubelet's default period, a leading Pod becomes ready up to ten seconds late, and a
// rolling update waits for each Pod.
func TestAPodIsSoonReady(t *testing.T) {
	sets := as[appsv1.DaemonSet](t, render(t, "plain"), "DaemonSet")
	if len(sets) != 1 {
		t.Fatalf("the chart has %d DaemonSets, want 1", len(sets))
	}
	probe := sets[0].Spec.Template.Spec.Containers[0].ReadinessProbe
	if probe.PeriodSeconds < 1 || probe.PeriodSeconds > 2 {
		t.Errorf("the readiness probe is %+v, want a period of at most 2 seconds", probe)
	}
}
