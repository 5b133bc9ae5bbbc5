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

// A Severity says how bad a finding is.
type Severity string

// The severities, the worst first. The table says what they mean.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// AtLeast reports whether a severity is as bad as another one, or worse.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

func (s Severity) rank() int { return slices.Index(Severities(), s) }

// A Kind is one thing that can be wrong.
type Kind struct {
	// ID is VZ and three digits.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Title says in a few words what is wrong.
	Title string `json:"title"`
	// Meaning says what it leads to, and Fix what to do, in whole sentences.
	Meaning string `json:"meaning"`
	Fix     string `json:"fix"`
}

//go:embed kinds.yaml
var table []byte

var kinds = sync.OnceValue(func() (all []Kind) {
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		panic(fmt.Sprintf("kinds.yaml: %v", err)) // a test reads it
	}
	return all
})

// Kinds returns all kinds, by ID.
func Kinds() []Kind { return kinds() }

// Lookup returns the kind with an ID, in upper or lower case, nil if there is none.
func Lookup(id string) *Kind {
	all := kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return strings.EqualFold(k.ID, id) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// A Finding is something wrong with one object, or with what several have in common.
type Finding struct {
	// ID is that of a kind.
	ID string
	// VCenter is the name of the vCenter, empty if it is about several or none.
	VCenter string
	// Object names what it is about, as topology.Object and quote do for a person.
	Object string
	// Text says what is wrong, in one line. Short is Text without what differs from object to object,
	// empty if that is Text itself: findings of one kind, vCenter and Short have one cause.
	Text, Short string
	// Advice says what to do here, empty for the Fix of the kind. HasAdvice reports whether Text says that too.
	Advice    string
	HasAdvice bool
	// Command does it, where one govc or kubectl command can, empty where none does. The operator replaces
	// words in capitals.
	Command string
	// Nodes are the names of the Nodes that it concerns.
	Nodes []string
}

// A Cause is the findings with one cause.
type Cause struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	VCenter  string   `json:"vcenter,omitempty"`
	Title    string   `json:"title"`
	Objects  []string `json:"objects"`
	Text     string   `json:"text"`
	// Nodes are the names of the Nodes that it concerns, if it does.
	Nodes []string `json:"nodes,omitempty"`
	Fix   string   `json:"fix"`
	// HasAdvice reports whether Text says what to do, as Fix does.
	HasAdvice bool `json:"-"`
	// Commands are those of the objects.
	Commands []string `json:"commands,omitempty"`
}

// Causes puts together the findings that have one cause, the worst first, then by ID: the table has the
// kinds in the order from cause to consequence.
func Causes(all []Finding) []Cause {
	type key struct{ id, vcenter, text, advice string }
	at := map[key]int{}
	causes := []Cause{}
	for _, f := range all {
		kind := Lookup(f.ID)
		f.Text = f.apart(f.Text)
		k := key{f.ID, f.VCenter, cmp.Or(f.Short, f.Text), f.Advice}
		i, again := at[k]
		if !again {
			i = len(causes)
			at[k] = i
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

// apart takes the name of the finding's vCenter, which is shown apart, out of a text that names no other one.
func (f *Finding) apart(text string) string {
	const of = " of vCenter "
	own := of + strconv.Quote(f.VCenter)
	if strings.Count(text, of) != strings.Count(text, own) {
		return text
	}
	return strings.ReplaceAll(text, own, "")
}
