package chart

import (
	"strings"
	"testing"
)

// TestRunbookURLs: every alert's runbook_url has the prefix, with or without a slash at its end.
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

// TestTokenOfTheServiceMonitor: a Secret's token takes the place of the file's.
func TestTokenOfTheServiceMonitor(t *testing.T) {
	for values, want := range map[string][2]bool{
		"serviceMonitor: {enabled: true}\n":                                 {false, true},
		"serviceMonitor: {enabled: true, tokenSecretName: metrics-token}\n": {true, false},
	} {
		out := string(render(t, "plain", values))
		secret := strings.Contains(out, "    authorization:\n      credentials:\n        name: metrics-token\n        key: token\n")
		if got := [2]bool{secret, strings.Contains(out, "bearerTokenFile:")}; got != want {
			t.Errorf("%s: by Secret and by file %v, want %v\n%s", values, got, want, out)
		}
	}
}
