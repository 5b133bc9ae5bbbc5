package config

import (
	"maps"
	"strings"
	"testing"
)

func TestParseNodeLabels(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":    nil,
		"  ":  nil,
		"a=b": {"a": "b"},
		// As in the CPI's help.
		"node.foo.bar=vsphere,foo.bar/mapi=": {"node.foo.bar": "vsphere", "foo.bar/mapi": ""},
		" a=b , c=D_1.2-e ":                  {"a": "b", "c": "D_1.2-e"},
	} {
		got, err := ParseNodeLabels(text)
		if err != nil || !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"a":                             `label "a" has no = behind its key: write key=value, with a comma between two of them`,
		"a=b,":                          `label "" has no = behind its key: write key=value, with a comma between two of them`,
		"=b":                            `label "" is no label key: `,
		"a=b,a=c":                       `label "a" is given twice: remove one of the two`,
		"a=b=c":                         `label "a" has no label's value: it may hold only letters, digits, '-', '_' and '.': write another one (found "b=c")`,
		"kubernetes.io/a=b":             `label "kubernetes.io/a" is reserved: `,
		"vzones/a=b":                    `label "vzones/a" is reserved: `,
		"topology.kubernetes.io/zone=a": `label "topology.kubernetes.io/zone" is the label of labels.zone: `,
	} {
		got, err := ParseNodeLabels(text)
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	_, err := ParseNodeLabels("a=-,b=c,d")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}
