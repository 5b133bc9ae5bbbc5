package load

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"vzones/config"
	"vzones/internal/quote"
)

// Problems collects the mistakes in one file and the environment, and the warnings.
type Problems struct {
	File     string
	Dialect  *Dialect
	Errors   config.Errors
	Warnings []config.Warning
	// seen are all of them, each of which is kept once; omitted is how many warnings are not.
	seen    map[config.Error]bool
	omitted int
	// stops reports whether the reader of the file recovers from stopped.
	stops bool
}

// maxProblems is how many mistakes are looked for, and warnings are kept.
const maxProblems = 1000

// stopped ends the reading of a file whose further mistakes help nobody.
type stopped struct{}

// where returns a position as FILE:LINE: FIELD, or names an environment variable.
func (p *Problems) where(at Position) string {
	if at.Line == InEnvironment {
		return at.Path
	}
	return fmt.Sprintf("%s:%d: %s", p.File, max(at.Line, 1), at.Path)
}

// Errorf reports a mistake. What several entries inherit is one.
func (p *Problems) Errorf(at Position, format string, args ...any) {
	if e := p.message(at, format, args); p.isNew(e) {
		p.Errors = append(p.Errors, e)
		if len(p.Errors) == maxProblems && p.stops {
			panic(stopped{})
		}
	}
}

// stop reports a last mistake and ends the reading.
func (p *Problems) stop(at Position, format string, args ...any) {
	p.Errors = append(p.Errors, p.message(at, format, args))
	if p.stops {
		panic(stopped{})
	}
}

// bad reports a mistake in a value, and marks the value.
func (p *Problems) bad(v *Value, format string, args ...any) {
	v.Set = true
	v.Bad = true
	p.Errorf(v.At, format, args...)
}

// Warnf adds a warning. What several entries inherit is one.
func (p *Problems) Warnf(at Position, format string, args ...any) {
	p.warn(at, false, fmt.Sprintf(format, args...))
}

// warn adds a warning. isCSI tells that the CSI driver sees another value than Nodes have.
func (p *Problems) warn(at Position, isCSI bool, message string) {
	w := p.message(at, "%s", []any{message})
	w.VCenter = at.VCenter
	w.IsCSI = isCSI
	switch {
	case !p.isNew(w):
	case len(p.Warnings) >= maxProblems:
		p.omitted++
	default:
		p.Warnings = append(p.Warnings, w)
	}
}

func (p *Problems) isNew(e config.Error) bool {
	if p.seen == nil {
		p.seen = make(map[config.Error]bool)
	}
	isNew := !p.seen[e]
	p.seen[e] = true
	return isNew
}

// message returns a message about a position, without adding it.
func (p *Problems) message(at Position, format string, args []any) config.Error {
	e := config.Error{Field: at.Path, Message: fmt.Sprintf(format, args...)}
	if at.Line != InEnvironment {
		e.File = p.File
		e.Line = max(at.Line, 1)
	}
	return e
}

// Err returns the errors by line. Without any it returns nil. Beside them are the warnings of keys in whose place
// another one is to be written: that may be why something is missing.
func (p *Problems) Err() error {
	if len(p.Errors) == 0 {
		return nil
	}
	all := slices.DeleteFunc(slices.Clone(p.Warnings), func(w config.Warning) bool {
		return !strings.HasPrefix(w.Message, "has no effect") || !strings.Contains(w.Message, ": write ")
	})
	all = Sorted(append(all, p.Errors...))
	if len(p.Errors) == maxProblems {
		all = append(all, config.Error{File: p.File, Line: max(all[len(all)-1].Line, 1),
			Message: fmt.Sprintf("there may be more mistakes than these %d: correct these first", maxProblems)})
	}
	return config.Errors(all)
}

// Sorted sorts messages by line.
func Sorted(all []config.Error) []config.Error {
	slices.SortStableFunc(all, func(a, b config.Error) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// bounded counts what is taken of a list whose elements all take time, and stops the
// reading at one too many.
func (p *Problems) bounded(at Position, number, most int, what string) {
	if number > most {
		p.stop(at, "there are more than %d %s: write fewer", most, what)
	}
}

// InEnvironment is the line of an environment variable, InDefault the one of a default.
const (
	InEnvironment = -1
	InDefault     = -2
)

// Position is where in the file something was written.
type Position struct {
	Line int
	Path string
	// VCenter is the name of the entry that it is in.
	VCenter string
}

// at returns a position below, or beside, another one.
func (at Position) at(line int, path string) Position { return Position{line, path, at.VCenter} }

// String returns the position as a message names it beside its own.
func (at Position) String() string {
	if at.Line == InEnvironment {
		return "the " + at.Path
	}
	return fmt.Sprintf("%s in line %d", at.Path, at.Line)
}

// Key names the key or the variable, without its line: a message about it is the same when
// lines are written before it.
func (at Position) Key() string {
	if at.Line == InEnvironment {
		return at.String()
	}
	return at.Path
}

// variable is the position of an environment variable.
func variable(name string) Position {
	return Position{Line: InEnvironment, Path: "environment variable " + name}
}

// child is the path to a key of a mapping.
func child(path, key string) string {
	switch {
	case !bareKey.MatchString(key):
		return path + "[" + quote.Value(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// A Dialect has the differences between formats: above all the words of messages.
type Dialect struct {
	// Place says in which section a key belongs, Global in the one for all vCenters. Entry is one vCenter's
	// section, and VCenters the path of all of those.
	Place, Global, Entry, VCenters string
	// Section names a section in Place, and Element one of the sections that a key has several of.
	Section, Element string
	// Several says how to write more than one value.
	Several string
	// NoBreak says how to write a text without a line break at its end.
	NoBreak string
	// InlineCA says where certificates themselves can stand, with an or behind it.
	InlineCA string
	// Lines says how to write a text of several lines.
	Lines string
	// Trust names the keys for a certificate that no public authority has signed.
	Trust string
	// Unverified says who takes a global insecureFlag for each vCenter's.
	Unverified string
	// Key names a key as the format does, from its name in YAML.
	Key func(string) string
}

// YAML is the YAML format.
var YAML = Dialect{
	Place:      "under %s",
	Section:    "%s",
	Element:    "an entry of %s",
	Global:     "under global",
	Entry:      "entry under vcenter",
	VCenters:   "vcenter",
	Several:    "each as an element of its own",
	NoBreak:    "after | write |-, or write it on one line in quotes",
	InlineCA:   "it under caData, or ",
	Lines:      "each line of it on a line of its own",
	Trust:      "caData, caFile or thumbprint",
	Unverified: "to the vSphere CPI that holds for every vCenter, and it does not verify it: ",
	Key:        func(name string) string { return name },
}

// INI is the INI format.
var INI = Dialect{
	Place:      "in %s",
	Section:    "[%s]",
	Element:    "[%s \"NAME\"]",
	Global:     "in [Global]",
	Entry:      `section such as [VirtualCenter "vc.example.com"]`,
	Several:    "with a comma between the two",
	NoBreak:    `remove the \n`,
	Lines:      `in quotes and with \n for each line break`,
	Trust:      "ca-file or thumbprint",
	Unverified: "to the vSphere CPI and the CSI driver that holds for every vCenter, and they do not verify it: ",
	Key:        Dash,
}

// secret names the keys for a Secret.
func (d *Dialect) secret() string { return d.Key("secretName") + " and " + d.Key("secretNamespace") }

var upper = regexp.MustCompile(`[A-Z]`)

// Dash names a key of the YAML format as the INI format does: insecureFlag is insecure-flag.
func Dash(key string) string { return strings.ToLower(upper.ReplaceAllString(key, "-$0")) }
