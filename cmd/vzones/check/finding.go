package check

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Severity is the severity of a finding.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// AtLeast reports whether s is at least as severe as other.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

func (s Severity) rank() int { return slices.Index(Severities(), s) }

// Kind is a kind of finding, a row of kinds.yaml.
type Kind struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	// Meaning describes the consequences, and Fix the remedy, in full sentences.
	Meaning string `json:"meaning"`
	Fix     string `json:"fix"`
}

//go:embed kinds.yaml
var table []byte

var kinds = sync.OnceValue(func() (all []Kind) {
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		panic(fmt.Sprintf("kinds.yaml: %v", err)) // A test parses kinds.yaml.
	}
	return all
})

// Kinds returns all kinds, sorted by ID.
func Kinds() []Kind { return kinds() }

// Lookup returns the kind with an ID, ignoring case, or nil.
func Lookup(id string) *Kind {
	rows := kinds()
	i := slices.IndexFunc(rows, func(k Kind) bool { return strings.EqualFold(k.ID, id) })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// Finding is a problem of one object, or a problem that several objects share.
type Finding struct {
	ID string
	// VCenter is the name of the vCenter, or "" if the finding concerns several or none.
	VCenter string
	// Object is the name of the object, as topology.Object and quote format it.
	Object string
	// Text describes the problem in one line. Short is Text without the parts that differ between
	// objects, or "" if no part does: findings with the same kind, vCenter and Short have one cause.
	Text, Short string
	// Advice overrides the Fix of the kind. HasAdvice reports whether Text contains the remedy.
	Advice    string
	HasAdvice bool
	// Command is one govc or kubectl command that fixes the problem, or "". The operator replaces words in
	// capitals.
	Command string
	Nodes   []string
}

// Cause groups the findings with one cause.
type Cause struct {
	ID        string   `json:"id"`
	Severity  Severity `json:"severity"`
	VCenter   string   `json:"vcenter,omitempty"`
	Title     string   `json:"title"`
	Objects   []string `json:"objects"`
	Text      string   `json:"text"`
	Nodes     []string `json:"nodes,omitempty"`
	Fix       string   `json:"fix"`
	HasAdvice bool     `json:"-"`
	Commands  []string `json:"commands,omitempty"`
}

// stopsDaemon reports whether the daemon does not handle Nodes because of the cause.
func (c *Cause) stopsDaemon() bool { return c.ID >= "VZ180" && c.ID <= "VZ185" && c.Severity == Error }

// Causes groups findings by their cause and sorts them by severity and ID. The IDs are numbered from
// cause to consequence.
func Causes(findings []Finding) []Cause {
	type key struct{ id, vcenter, text, advice string }
	index := map[key]int{}
	causes := []Cause{}
	for _, f := range findings {
		kind := Lookup(f.ID)
		f.Text = f.withoutVCenter(f.Text)
		k := key{f.ID, f.VCenter, cmp.Or(f.Short, f.Text), f.Advice}
		i, exists := index[k]
		if !exists {
			i = len(causes)
			index[k] = i
			causes = append(causes, Cause{ID: f.ID, Severity: kind.Severity, VCenter: f.VCenter, Title: kind.Title, Text: f.Text, Fix: cmp.Or(f.Advice, kind.Fix), HasAdvice: f.HasAdvice})
		}
		c := &causes[i]
		c.Nodes = append(c.Nodes, f.Nodes...)
		if !slices.Contains(c.Objects, f.Object) {
			if c.Objects = append(c.Objects, f.Object); len(c.Objects) > 1 {
				c.Text = k.text
				c.HasAdvice = c.HasAdvice && f.Short == ""
			}
		}
		if f.Command != "" && !slices.Contains(c.Commands, f.Command) {
			c.Commands = append(c.Commands, f.Command)
		}
	}
	for i := range causes {
		slices.Sort(causes[i].Nodes)
		causes[i].Nodes = slices.Compact(causes[i].Nodes)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(a.Severity.rank()-b.Severity.rank(), strings.Compare(a.ID, b.ID), strings.Compare(a.VCenter, b.VCenter), strings.Compare(a.Objects[0], b.Objects[0]), strings.Compare(a.Text, b.Text))
	})
	return causes
}

// withoutVCenter removes the finding's vCenter from a text, unless the text names another vCenter too.
func (f *Finding) withoutVCenter(text string) string {
	const separator = " of vCenter "
	ownName := separator + strconv.Quote(f.VCenter)
	if strings.Count(text, separator) != strings.Count(text, ownName) {
		return text
	}
	return strings.ReplaceAll(text, ownName, "")
}
