package schema

import (
	"fmt"
	"math"

	"vzones/config/problem"
)

// A Field describes one key, for all that goes by keys: the readers of the formats and of
// the environment, validation, the writers, the JSON schema and the reference.
type Field struct {
	Name string
	// Into is where its value goes, and with that what kind of value it has.
	Into Target
	// Variable is the environment variable that overrides it, if one does.
	Variable string
	// Default is what holds unless it is configured, if that is one value.
	Default any
	// Words are the values that it can have, if these are words.
	Words []string
	// Limits are those of a number.
	Limits Limits
	// Inherited reports whether an entry that leaves it unset has the global section's.
	Inherited bool
	// YAMLOnly reports whether the INI format does not have it, Ours that it does, but not in the
	// vSphere CPI.
	YAMLOnly, Ours bool
	// CSI reports whether the CSI driver's file has it, or that its parts are looked at one by one.
	CSI bool
	// Doc says what it means, and Unset what holds unless it is configured where Default does
	// not say so: both in the words of the reference, in Markdown.
	Doc, Unset string
}

// Limits are the least and the greatest number, and what such a number is.
type Limits struct {
	What        string
	Least, Most int
}

// Allow reports whether a number is within the limits.
func (l Limits) Allow(n int) bool { return l.Least <= n && n <= l.Most }

// String says what to write.
func (l Limits) String() string {
	if l.Most == math.MaxInt32 {
		return fmt.Sprintf("a number, at least %d", l.Least)
	}
	return fmt.Sprintf("a number from %d to %d", l.Least, l.Most)
}

// A Target takes the value of a key. It is a pointer to a value, or one of the types below.
type Target interface{ Take(from Source) }

// A Source is a value as a format has it: in a file, or in an environment variable. Each of
// its methods that returns a value reports what is wrong with it.
type Source interface {
	Place() problem.Position
	Problems() *problem.List
	Text() Text
	Secret() Secret
	Number() Number
	Toggle() Toggle
	List() List
	// Asks reports whether it asks for something, as the empty values do not that generators
	// write for all that they leave unset.
	Asks() bool
	// Respelled warns that its key is another spelling of a key.
	Respelled(key string)
}

// A Mapping is a Source of a format in which values have structure.
type Mapping interface {
	Source
	Group(Group)
	Entries(Entries)
	Elements(Elements)
	Table() []Row
	// Fields reads a mapping with known keys if it is one.
	Fields(fields []Field) bool
}

type (
	// Group is a mapping with known keys; Unsure, if there is one, is set if
	// the mapping is there and cannot be read.
	Group struct {
		Fields []Field
		Unsure *bool
		entry  bool // of a vCenter, which is there even without keys
	}
	// Entries are the vCenters, a mapping whose keys are their names.
	Entries struct{ *File }
	// Elements are the further levels, a list of mappings.
	Elements struct{ *Placement }
	// Ignored is a key that is accepted and has no effect, and why.
	Ignored string
	// Refused is a key that must have no value, and why.
	Refused struct{ Why string }
)

// Take reads a single value. Nothing else tells the kinds of values apart.
func (v *Value[T]) Take(from Source) {
	switch v := any(v).(type) {
	case *Text:
		*v = from.Text()
	case *Secret:
		*v = from.Secret()
	case *Number:
		*v = from.Number()
	case *Toggle:
		*v = from.Toggle()
	case *List:
		*v = from.List()
	}
}

// Take reads all rows.
func (t *Table) Take(from Source) { t.Rows = append(t.Rows, from.(Mapping).Table()...) }

// Take reads the keys.
func (g Group) Take(from Source) { from.(interface{ Group(Group) }).Group(g) }

// Take reads the entries.
func (e Entries) Take(from Source) { from.(Mapping).Entries(e) }

// Take reads the elements.
func (e Elements) Take(from Source) { from.(Mapping).Elements(e) }

// Take warns of a value that asks for something.
func (i Ignored) Take(from Source) {
	if from.Asks() {
		from.Problems().Warnf(from.Place(), "%s", string(i))
	}
}

// Take reports a value that asks for something.
func (r Refused) Take(from Source) {
	if from.Asks() {
		from.Problems().Errorf(from.Place(), "%s", r.Why)
	}
}

// Misspelled takes what stands under a misspelled key as given, if only wrongly, so that it
// is not reported as missing too.
func Misspelled(into Target, at problem.Position) {
	if t, ok := into.(interface{ misspelled(problem.Position) }); ok {
		t.misspelled(at)
	}
}

func (v *Value[T]) misspelled(at problem.Position) {
	if !v.Set {
		v.At, v.Set, v.Bad = at, true, true
	}
}

func (e Entries) misspelled(problem.Position) { e.Broken = true }

func (g Group) misspelled(problem.Position) {
	if g.Unsure != nil {
		*g.Unsure = true
	}
}

// Given returns where a value is set, if it is a single one or a table and set.
func Given(into Target) (problem.Position, bool) {
	if t, ok := into.(interface {
		given() (problem.Position, bool)
	}); ok {
		return t.given()
	}
	return problem.Position{}, false
}

func (v *Value[T]) given() (problem.Position, bool) { return v.At, v.Set }

func (t *Table) given() (problem.Position, bool) {
	if len(t.Rows) == 0 {
		return problem.Position{}, false
	}
	return t.Rows[0].At, true
}

// NoName is what is wrong with a name that no vCenter can have.
const NoName = "is not a valid name of a vCenter: write one of at most 253 bytes, without line breaks, nor blanks at its ends, such as its address"

const (
	noNSXT = "vzones has no NSX-T load balancers and no NSX-T routes: remove this section, " +
		"and leave them to a controller of their own"
	noIndex     = "has no effect: all machines of the datacenters are watched"
	noAPI       = "has no effect: vzones does not serve the API of the vSphere CPI"
	noSwitch    = "has no effect: several IP families need no switch"
	internalKey = "has no effect: the vSphere CPI sets it"
)
