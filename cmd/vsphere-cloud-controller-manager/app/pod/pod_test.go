package pod

import (
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"vzones/topology/quote"
)

func TestAbridge(t *testing.T) {
	long := strings.Repeat("ü", 150)
	for name, c := range map[string]struct {
		lines []string
		last  string
		ends  string
	}{
		"short":        {[]string{"a", "b"}, "", "a; b"},
		"many":         {[]string{"a", long, long, "b"}, "", "and 2 more, in the log"},
		"one too long": {[]string{long + long + long}, "", "and 0 more, in the log"},
		"with a last":  {[]string{"a", "b"}, "nothing changes", "a; b; nothing changes"},
		"many, last":   {[]string{"a", long, long, "b"}, "nothing changes", "and 2 more, in the log; nothing changes"},
	} {
		got := Abridge(c.lines, c.last)
		if len(got) > quote.LongestNote || !strings.HasSuffix(got, c.ends) || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
	}
}

func TestReference(t *testing.T) {
	env := map[string]string{"POD_NAME": "ccm-1", "POD_NAMESPACE": "kube-system", "POD_UID": "u"}
	get := func(name string) string { return env[name] }
	if p := Reference(get); p == nil || p.Name != "ccm-1" || p.Namespace != "kube-system" || p.UID != "u" {
		t.Errorf("%+v", p)
	}
	delete(env, "POD_NAME")
	if p := Reference(get); p != nil {
		t.Errorf("%+v", p)
	}
	(&Recorder{}).Record(v1.EventTypeNormal, "ConfigurationApplied", "There is no Pod.")
}
