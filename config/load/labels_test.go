package load

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config"
)

func TestParseNodeLabels(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                  nil,
		"  ":                nil,
		`""`:                nil,
		"a=b":               {"a": "b"},
		`"a=b"`:             {"a": "b"},
		"'a=b'":             {"a": "b"},
		` "a=b" `:           {"a": "b"},
		`a="b"`:             {"a": "b"},
		"a='b'":             {"a": "b"},
		`a=""`:              {"a": ""},
		`"a='b'"`:           {"a": "b"},
		`"a=b,c="`:          {"a": "b", "c": ""},
		`"a=b","c=d",'e=f'`: {"a": "b", "c": "d", "e": "f"},
		// As in the CPI's help.
		"node.foo.bar=vsphere,foo.bar/mapi=": {"node.foo.bar": "vsphere", "foo.bar/mapi": ""},
		" a=b , c=D_1.2-e ":                  {"a": "b", "c": "D_1.2-e"},
		"a=b,a=b":                            {"a": "b"},
	} {
		got, warnings, err := config.ParseNodeLabels(text)
		if err != nil || !maps.Equal(got, want) || (got == nil) != (want == nil) || len(warnings) > 0 {
			t.Errorf("%q: got %v, %q, %v", text, got, warnings, err)
		}
	}
	for text, want := range map[string]string{
		"a":                              `label "a" has no = behind its key: write key=value, with a comma between two of them`,
		"kubernetes.io/a":                `label "kubernetes.io/a" has no = behind its key: write key=value, with a comma between two of them`,
		"a=b,":                           `label "" has no = behind its key: write key=value, with a comma between two of them`,
		"=b":                             `label "" is not a valid label key: `,
		"a=b=c":                          `label "a" is not a valid label value: it may hold only letters, digits, '-', '_' and '.': write another one (found "b=c")`,
		`"a=b`:                           `label "\"a" is not a valid label key: `,
		"a=b'":                           `label "a" is not a valid label value: `,
		"vzones/a=b":                     `label "vzones/a" is reserved: `,
		"notkubernetes.io=a,b":           `label "b" has no = behind its key: `,
		"topology.csi.vmware.com/zone=a": `label "topology.csi.vmware.com/zone" is reserved: `,
	} {
		got, _, err := config.ParseNodeLabels(text)
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	// Each mistake is one line.
	for _, texts := range [][]string{{"a=-", "b=c,d"}, {`a="b,c=d"`}} {
		if _, _, err := config.ParseNodeLabels(texts...); err == nil || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%q: not all mistakes at once: %v", texts, err)
		}
	}
}

// TestNodeLabelsOfSeveralFlags merge, the last value of a key counts, and what the
// framework would drop is dropped, whatever else is wrong with it.
func TestNodeLabelsOfSeveralFlags(t *testing.T) {
	const dropped = " is dropped: no Node keeps a cloud provider's label in kubernetes.io and k8s.io: " +
		"remove it, or write a prefix of your own, such as example.com/"
	for _, c := range []struct {
		texts  []string
		labels map[string]string
		want   []string
	}{
		{[]string{"a=b", "", `"c=d"`, "e="}, map[string]string{"a": "b", "c": "d", "e": ""}, nil},
		{[]string{"a=b,c=d", "a=e"}, map[string]string{"a": "e", "c": "d"}, []string{`label "a" has several values: the last one counts, "e": remove the others`}},
		{[]string{"a=b,a=c", "a="}, map[string]string{"a": ""}, []string{`label "a" has several values: the last one counts, "": remove the others`}},
		{
			[]string{"kubernetes.io/x=y", "a=b,node-role.kubernetes.io/worker="}, map[string]string{"a": "b"},
			[]string{`label "kubernetes.io/x"` + dropped + "x", `label "node-role.kubernetes.io/worker"` + dropped + "worker"},
		},
		{[]string{"x.k8s.io/y=-"}, nil, []string{`label "x.k8s.io/y"` + dropped + "y"}},
		{[]string{"topology.kubernetes.io/zone=a"}, nil, []string{`label "topology.kubernetes.io/zone"` + dropped + "zone"}},
		{[]string{"notkubernetes.io/x=y"}, map[string]string{"notkubernetes.io/x": "y"}, nil},
	} {
		labels, warnings, err := config.ParseNodeLabels(c.texts...)
		if err != nil || !maps.Equal(labels, c.labels) || !slices.Equal(warnings, c.want) {
			t.Errorf("%q: got %v, %q, %v", c.texts, labels, warnings, err)
		}
	}
}
