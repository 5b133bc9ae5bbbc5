// Package problem collects what is wrong with one configuration, each with its position, in
// the words of the file's format. It never holds a secret.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vzones/config"
)

// List collects what is wrong with one file and the environment.
type List struct {
	File     string
	Words    *Words
	Errors   config.Errors
	Warnings []config.Warning
	Notes    []config.Warning
	// seen are all of them, each of which is kept once; unsaid is how many warnings are not.
	seen    map[config.Error]bool
	Omitted int
	// Stops reports whether whoever reads the file recovers from stop.
	Stops bool
}

// Where returns a position as FILE:LINE: FIELD, or names an environment variable.
func (p *List) Where(at Position) string {
	if at.Line == InEnvironment {
		return at.Path
	}
	return fmt.Sprintf("%s:%d: %s", p.File, max(at.Line, 1), at.Path)
}

// Errorf reports a mistake. What several entries inherit is one.
func (p *List) Errorf(at Position, format string, args ...any) {
	e := p.New(at, format, args)
	if p.isDuplicate(e) {
		return
	}
	p.Errors = append(p.Errors, e)
	if len(p.Errors) == maxProblems && p.Stops {
		last := slices.MaxFunc(p.Errors, func(a, b config.Error) int { return cmp.Compare(a.Line, b.Line) })
		p.Stop(Position{Line: last.Line}, "there may be more mistakes than these %d: correct these first", maxProblems)
	}
}

// Warnf adds a warning. What several entries inherit is one.
func (p *List) Warnf(at Position, format string, args ...any) {
	p.WarnAbout(config.AboutFile, at, format, args...)
}

// WarnAbout is Warnf about a subject.
func (p *List) WarnAbout(what config.Subject, at Position, format string, args ...any) {
	w := p.New(at, format, args)
	w.About = what
	switch {
	case p.isDuplicate(w):
	case len(p.Warnings) >= maxProblems:
		p.Omitted++
	default:
		p.Warnings = append(p.Warnings, config.Warning(w))
	}
}

// Notef notes how a value is read.
func (p *List) Notef(at Position, format string, args ...any) {
	if n := p.New(at, format, args); len(p.Notes) < maxProblems && !p.isDuplicate(n) {
		p.Notes = append(p.Notes, config.Warning(n))
	}
}

func (p *List) isDuplicate(e config.Error) bool {
	if p.seen[e] {
		return true
	}
	if p.seen == nil {
		p.seen = make(map[config.Error]bool)
	}
	p.seen[e] = true
	return false
}

// New returns a message about a position, without adding it.
func (p *List) New(at Position, format string, args []any) config.Error {
	if at.Line == InEnvironment {
		return config.Error{Field: at.Path, Message: fmt.Sprintf(format, args...)}
	}
	return config.Error{
		File:    p.File,
		Line:    max(at.Line, 1),
		Field:   at.Path,
		Message: fmt.Sprintf(format, args...),
	}
}

// Err returns the errors by line, each once: what several entries inherit is
// one mistake. Without any it returns nil.
func (p *List) Err() error {
	if len(p.Errors) == 0 {
		return nil
	}
	return Sorted(p.Errors, func(e config.Error) config.Error { return e })
}

// Sorted returns messages by line, each once.
func Sorted[S ~[]E, E comparable](all S, as func(E) config.Error) S {
	slices.SortStableFunc(all, func(a, b E) int { return cmp.Compare(as(a).Line, as(b).Line) })
	seen := make(map[E]bool, len(all))
	return slices.DeleteFunc(all, func(e E) bool {
		repeated := seen[e]
		seen[e] = true
		return repeated
	})
}

// stopped is what ends the reading of a file that is not worth going on with.
type stopped struct{}

// Stop reports a last mistake and ends the reading.
func (p *List) Stop(at Position, format string, args ...any) {
	p.Errors = append(p.Errors, p.New(at, format, args))
	if p.Stops {
		panic(stopped{})
	}
}

// Recovered takes what stop has thrown.
func Recovered(thrown any) {
	if _, ok := thrown.(stopped); thrown != nil && !ok {
		panic(thrown)
	}
}

// Bounded counts what is taken of a list whose elements all take time, and stops the
// reading at one too many.
func (p *List) Bounded(at Position, number, most int, what string) {
	if number > most {
		p.Stop(at, "there are more than %d %s: write fewer", most, what)
	}
}

// maxProblems is how many mistakes are looked for, and warnings are kept.
const maxProblems = 1000

// Dashed reports whether a key of the YAML format is written at a place as the INI format
// spells it, which the CPI ignores there.
func (p *List) Dashed(at Position, key string) bool {
	return p.Words == &YAMLWords && at.Line != InEnvironment && strings.HasSuffix(at.Path, "."+Dash(key))
}
