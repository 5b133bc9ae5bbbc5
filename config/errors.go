package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Error is one mistake in a configuration file. None of its fields ever
// holds a secret from the file.
type Error struct {
	// File is empty for a mistake in an environment variable.
	File string
	// Line counts from 1. A mistake of the whole file is at line 1, one in an
	// environment variable at 0.
	Line int
	// Field is the path to the mistake, as the file's format has it: such as
	// vcenter.east.port or vcenter["vc.example.com"].datacenters[1] in YAML,
	// [VirtualCenter "east"] port in INI, or environment variable VSPHERE_USER. It
	// is empty for a mistake of the whole file.
	Field string
	// Path is the CA file, as the configuration names it, if what is wrong is in
	// that one or that it is not there. Whoever waits for the mistake to go watches
	// it besides File.
	Path string
	// VCenter is the name of the vCenter in whose entry a warning is, empty if it is in
	// none. Errors do not have it: an entry with a mistake is no vCenter.
	VCenter string
	// Message says what is wrong and what to write instead, in one line.
	Message string
}

// Error returns FILE:LINE: FIELD: MESSAGE.
func (e Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Field, e.Message)
}

// Errors are all mistakes of a file, by line; there is at least one.
type Errors []Error

// Error returns one line for each mistake.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each mistake as an error of its own.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// A Warning is something in the file that is valid and does not do what one
// might expect, such as a setting without effect. It is made like an Error.
type Warning Error

// String returns FILE:LINE: FIELD: MESSAGE.
func (w Warning) String() string { return Error(w).Error() }

// inEnvironment is the line of what an environment variable says.
const inEnvironment = -1

// position is where in the file something was written.
type position struct {
	line int
	path string
}

// String returns the position as a message names it beside its own.
func (at position) String() string {
	if at.line == inEnvironment {
		return "the " + at.path
	}
	return fmt.Sprintf("%s in line %d", at.path, at.line)
}

// key names what stands there, without its line: what is told of it is the same when
// lines are written before it.
func (at position) key() string {
	if at.line == inEnvironment {
		return at.String()
	}
	return at.path
}

// where returns a position as FILE:LINE: FIELD, or names an environment variable.
func (p *problems) where(at position) string {
	if at.line == inEnvironment {
		return at.path
	}
	return fmt.Sprintf("%s:%d: %s", p.file, max(at.line, 1), at.path)
}

// problems collects what is wrong with one file and the environment.
type problems struct {
	file     string
	words    *wording
	errors   Errors
	warnings []Warning
	notes    []Warning
	// seen are all of them, each of which is kept once; unsaid is how many warnings are not.
	seen   map[Error]bool
	unsaid int
	// stops says that whoever reads the file recovers from stop.
	stops bool
}

// errorf reports a mistake. What several entries inherit is one.
func (p *problems) errorf(at position, format string, args ...any) {
	e := p.problem(at, format, args)
	if p.again(e) {
		return
	}
	p.errors = append(p.errors, e)
	if len(p.errors) == maxProblems && p.stops {
		last := slices.MaxFunc(p.errors, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
		p.stop(position{line: last.Line}, "there may be more mistakes than these %d: correct these first", maxProblems)
	}
}

func (p *problems) warnf(at position, format string, args ...any) {
	w := p.problem(at, format, args)
	switch {
	case p.again(w):
	case len(p.warnings) >= maxProblems:
		p.unsaid++
	default:
		p.warnings = append(p.warnings, Warning(w))
	}
}

// notef tells how a value is read.
func (p *problems) notef(at position, format string, args ...any) {
	if n := p.problem(at, format, args); len(p.notes) < maxProblems && !p.again(n) {
		p.notes = append(p.notes, Warning(n))
	}
}

func (p *problems) again(e Error) bool {
	if p.seen[e] {
		return true
	}
	if p.seen == nil {
		p.seen = make(map[Error]bool)
	}
	p.seen[e] = true
	return false
}

func (p *problems) problem(at position, format string, args []any) Error {
	if at.line == inEnvironment {
		return Error{Field: at.path, Message: fmt.Sprintf(format, args...)}
	}
	return Error{
		File:    p.file,
		Line:    max(at.line, 1),
		Field:   at.path,
		Message: fmt.Sprintf(format, args...),
	}
}

// err returns the errors by line, each once: what several entries inherit is
// one mistake. Without any it returns nil.
func (p *problems) err() error {
	if len(p.errors) == 0 {
		return nil
	}
	return sorted(p.errors, func(e Error) Error { return e })
}

func sorted[S ~[]E, E comparable](all S, as func(E) Error) S {
	slices.SortStableFunc(all, func(a, b E) int { return cmp.Compare(as(a).Line, as(b).Line) })
	seen := make(map[E]bool, len(all))
	return slices.DeleteFunc(all, func(e E) bool {
		repeated := seen[e]
		seen[e] = true
		return repeated
	})
}
