package chart

import (
	"bytes"
	"strings"
	"testing"
)

// TestNull: a null value is either rejected or equivalent to the empty value of its type, because
// Helm removes the key before it checks the schema. A null section is always rejected.
func TestNull(t *testing.T) {
	all, err := helm.Values()
	if err != nil {
		t.Fatal(err)
	}
	with := func(set string) ([]byte, error) {
		dependOnChart(t)
		return helm.Run(t.Context(), "template", "vzones", helm.Chart(), "--namespace", "kube-system",
			"--values", helm.Example("plain"), "--values", values(t, "dashboard: {enabled: true}\nserviceMonitor: {enabled: true}\n"),
			"--set-json", set)
	}
	sections := map[string]bool{}
	for i := range all {
		v := &all[i]
		if len(v.Path) > 1 && !sections[v.Path[0]] {
			sections[v.Path[0]] = true
			t.Run(v.Path[0], func(t *testing.T) {
				t.Parallel()
				if _, err := with(v.Path[0] + "=null"); !rejectedBySchema(err) {
					t.Errorf("the section %s is taken away: %v", v.Path[0], err)
				}
			})
		}
		t.Run(v.Name(), func(t *testing.T) {
			t.Parallel()
			null, err := with(v.Name() + "=null")
			if rejectedBySchema(err) {
				return
			}
			var empty string
			first := v.Default[:1]
			switch {
			case v.Name() == "config" || v.Name() == "credentials":
				// Without a vCenter nothing is rendered, and credentials must belong to a vCenter.
				return
			case first == "{" && v.Default != "{}":
				// Helm has no other way to empty a mapping.
				if err != nil {
					t.Error(err)
				}
				return
			case first == "{" || first == "[":
				empty = v.Default[:1] + map[string]string{"{": "}", "[": "]"}[first]
			case first == `"`:
				empty = `""`
			case first == "t" || first == "f":
				empty = "false"
			default:
				t.Errorf("the number %s is taken away: %v", v.Name(), err)
				return
			}
			if v.Default == "true" {
				t.Errorf("%s, which is true, is taken away: %v", v.Name(), err)
			}
			same, errEmpty := with(v.Name() + "=" + empty)
			if err != nil || errEmpty != nil || !bytes.Equal(null, same) {
				t.Errorf("%s: null (error %v) and %s (error %v) render differently:\n%s", v.Name(), err, empty, errEmpty, firstDifference(string(null), string(same)))
			}
		})
	}
}

func rejectedBySchema(err error) bool {
	return err != nil && strings.Contains(err.Error(), "values don't meet the specifications of the schema(s)")
}
