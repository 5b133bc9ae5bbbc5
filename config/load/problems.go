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

// Problems collects the errors and warnings of a file and the environment.
type Problems struct {
	File     string
	Dialect  *Dialect
	Errors   config.Errors
	Warnings []config.Warning
	// seen contains all reported problems. omitted is the number of warnings beyond the limit.
	seen    map[config.Error]bool
	omitted int
	// stops is true if the reader of the file recovers from stopped.
	stops bool
}

// maxProblems limits errors and warnings separately.
const maxProblems = 1000

// stopped is the panic that ends the reading of a file after too many errors.
type stopped struct{}

func (p *Problems) where(pos Position) string {
	if pos.Line == InEnvironment {
		return pos.Path
	}
	return fmt.Sprintf("%s:%d: %s", p.File, max(pos.Line, 1), pos.Path)
}

// Errorf reports an error, once for all entries that inherit the value.
func (p *Problems) Errorf(pos Position, format string, args ...any) {
	if e := p.message(pos, format, args); p.isNew(e) {
		p.Errors = append(p.Errors, e)
		if len(p.Errors) == maxProblems && p.stops {
			panic(stopped{})
		}
	}
}

func (p *Problems) stop(pos Position, format string, args ...any) {
	p.Errors = append(p.Errors, p.message(pos, format, args))
	if p.stops {
		panic(stopped{})
	}
}

func (p *Problems) bad(v *Value, format string, args ...any) {
	v.Set = true
	v.Bad = true
	p.Errorf(v.At, format, args...)
}

// Warnf adds a warning, once for all entries that inherit the value.
func (p *Problems) Warnf(pos Position, format string, args ...any) {
	p.warn(pos, false, fmt.Sprintf(format, args...))
}

// warn adds a warning. isCSI is true if the CSI driver sees a different value than Nodes have.
func (p *Problems) warn(pos Position, isCSI bool, message string) {
	w := p.message(pos, "%s", []any{message})
	w.VCenter = pos.VCenter
	w.IsCSI = isCSI
	p.addWarning(w)
}

func (p *Problems) addWarning(w config.Warning) {
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

func (p *Problems) message(pos Position, format string, args []any) config.Error {
	e := config.Error{Field: pos.Path, Message: fmt.Sprintf(format, args...)}
	if pos.Line != InEnvironment {
		e.File = p.File
		e.Line = max(pos.Line, 1)
	}
	return e
}

// Err returns the errors by line, or nil. It adds the warnings that config.Errors describes.
func (p *Problems) Err() error {
	if len(p.Errors) == 0 {
		return nil
	}
	messages := slices.DeleteFunc(slices.Clone(p.Warnings), func(w config.Warning) bool {
		return !strings.HasPrefix(w.Message, "has no effect") || !strings.Contains(w.Message, ": write ")
	})
	messages = Sorted(append(messages, p.Errors...))
	if len(p.Errors) == maxProblems {
		messages = append(messages, config.Error{File: p.File, Line: max(messages[len(messages)-1].Line, 1),
			Message: fmt.Sprintf("there may be more errors than these %d: correct these first", maxProblems)})
	}
	return config.Errors(messages)
}

// Sorted sorts messages by line.
func Sorted(messages []config.Error) []config.Error {
	slices.SortStableFunc(messages, func(a, b config.Error) int { return cmp.Compare(a.Line, b.Line) })
	return messages
}

// bounded ends the reading if a list has too many elements.
func (p *Problems) bounded(pos Position, number, limit int, noun string) {
	if number > limit {
		p.stop(pos, "there are more than %d %s: write fewer", limit, noun)
	}
}

// Special values of Position.Line.
const (
	InEnvironment = -1
	InDefault     = -2
)

// Position is a place in the file, or an environment variable.
type Position struct {
	Line    int
	Path    string
	VCenter string
}

func (pos Position) withPath(line int, path string) Position {
	return Position{line, path, pos.VCenter}
}

func (pos Position) String() string {
	if pos.Line == InEnvironment {
		return "the " + pos.Path
	}
	return fmt.Sprintf("%s in line %d", pos.Path, pos.Line)
}

// Key omits the line, so that a message does not change if lines are inserted above it.
func (pos Position) Key() string {
	if pos.Line == InEnvironment {
		return pos.String()
	}
	return pos.Path
}

func variable(name string) Position {
	return Position{Line: InEnvironment, Path: "environment variable " + name}
}

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

// A Dialect contains the words of messages that differ between the formats.
type Dialect struct {
	// Place is the phrase for a key's section, Global for the global section. Entry describes a
	// vCenter's section, and VCenters is the path of all of them.
	Place, Global, Entry, VCenters string
	// Section names a section in Place, and Element a section that can be repeated.
	Section, Element string
	Several          string
	NoBreak          string
	// InlineCA suggests the key for certificates themselves, if there is one.
	InlineCA string
	Lines    string
	// Trust names the keys for a certificate that no public CA has signed.
	Trust string
	// Unverified describes which programs apply a global insecureFlag to each vCenter.
	Unverified string
	Key        func(string) string
}

// YAML is the YAML format.
var YAML = Dialect{
	Place:      "under %s",
	Section:    "%s",
	Element:    "an entry of %s",
	Global:     "under global",
	Entry:      "entry under vcenter",
	VCenters:   "vcenter",
	Several:    "each as a separate element",
	NoBreak:    "write |- instead of |, or write it on one line in quotes",
	InlineCA:   "it under caData, or ",
	Lines:      "each line on a separate line",
	Trust:      "caData, caFile or thumbprint",
	Unverified: "the vSphere CPI applies that to every vCenter and does not verify this one: ",
	Key:        func(name string) string { return name },
}

// INI is the INI format.
var INI = Dialect{
	Place:      "in %s",
	Section:    "[%s]",
	Element:    "[%s \"NAME\"]",
	Global:     "in [Global]",
	Entry:      `section such as [VirtualCenter "vc.example.com"]`,
	Several:    "separated by a comma",
	NoBreak:    `remove the \n`,
	Lines:      `in quotes and with \n for each line break`,
	Trust:      "ca-file or thumbprint",
	Unverified: "the vSphere CPI and the CSI driver apply that to every vCenter and do not verify this one: ",
	Key:        Dash,
}

func (d *Dialect) secret() string { return d.Key("secretName") + " and " + d.Key("secretNamespace") }

var upper = regexp.MustCompile(`[A-Z]`)

// Dash converts a YAML key to its INI spelling, such as insecure-flag.
func Dash(key string) string { return strings.ToLower(upper.ReplaceAllString(key, "-$0")) }
