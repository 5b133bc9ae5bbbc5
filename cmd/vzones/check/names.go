package check

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Names are all names of one problem, a row of names.yaml. Each may be empty.
type Names struct {
	// Reason is the reason of Events and of the condition vzones/TopologyReady.
	Reason string `json:"reason"`
	// Outcome is the value of the label outcome in metrics.
	Outcome  string   `json:"outcome"`
	Alerts   []string `json:"alerts"`
	Findings []string `json:"findings"`
	// Meaning and Fix are full sentences. Meaning is empty if there is one finding, and Fix if there is any.
	Meaning string `json:"meaning"`
	Fix     string `json:"fix"`
}

//go:embed names.yaml
var namesTable []byte

// AllNames returns the names of all problems.
var AllNames = sync.OnceValue(func() (all []Names) {
	if err := yaml.UnmarshalStrict(namesTable, &all); err != nil {
		panic(fmt.Sprintf("names.yaml: %v", err)) // A test parses names.yaml.
	}
	return all
})

// NamesOf returns the names of the problem with a reason, an outcome, an alert or a finding, ignoring case, or nil.
func NamesOf(name string) *Names {
	rows := AllNames()
	for i := range rows {
		n := &rows[i]
		if slices.ContainsFunc(append([]string{n.Reason, n.Outcome}, slices.Concat(n.Alerts, n.Findings)...), func(s string) bool { return s != "" && strings.EqualFold(s, name) }) {
			return n
		}
	}
	return nil
}

// Reasons returns the reasons of Events and conditions.
func Reasons() (all []string) {
	for _, n := range AllNames() {
		if n.Reason != "" {
			all = append(all, n.Reason)
		}
	}
	return all
}
