package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"vzones/test/fleet"
)

// A Scenario is a fleet, a configuration, and a script of events and
// expectations.
type Scenario struct {
	// Name is that of the file, without its extension.
	Name string
	// Story says what the scenario shows.
	Story string
	// Monitor watches the daemons; nil where nobody does.
	Monitor Monitor
	// Held is how long it holds what must not happen: about the least that it takes.
	Held time.Duration

	fleet  string
	config *configuration // of the section config.yaml
	steps  []step
}

// The sections of a file.
const (
	fleetSection  = "fleet.yaml"
	configSection = "config.yaml"
	scriptSection = "script"
)

// Load reads a scenario. The error joins all mistakes, each with file and line.
func Load(path string) (*Scenario, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	p := &parser{file: filepath.Base(path), configs: map[string]*configuration{}}
	s := &Scenario{
		Name:  strings.TrimSuffix(p.file, ".txtar"),
		Story: strings.TrimSpace(string(archive.Comment)),
	}
	if s.Story == "" {
		p.mistake(1, "what the scenario shows is not said")
	}
	line := 1 + bytes.Count(archive.Comment, []byte("\n"))
	seen := map[string]bool{}
	for _, section := range archive.Files {
		if seen[section.Name] {
			p.mistake(line, "section %q is there twice", section.Name)
		}
		seen[section.Name] = true
		p.section(s, section, line)
		line += 1 + bytes.Count(section.Data, []byte("\n"))
	}
	for _, name := range []string{fleetSection, configSection, scriptSection} {
		if !seen[name] {
			p.mistake(line, "section %q is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.configs)) {
		if a := p.configs[name]; !a.used {
			p.mistake(a.line, "section %q is used by no command", name)
		}
	}
	return s, errors.Join(p.mistakes...)
}

// section reads the section whose header is at a line.
func (p *parser) section(s *Scenario, section txtar.File, line int) {
	switch section.Name {
	case fleetSection:
		spec, err := fleet.Parse(section.Data)
		if err != nil {
			p.mistake(line, "%v", err)
			return
		}
		s.fleet = string(section.Data)
		for _, v := range spec.VCenters {
			p.vcenters = append(p.vcenters, v.Name)
		}
	case configSection:
		var err error
		if s.config, err = readConfiguration(section.Name, section.Data, p.vcenters); err != nil {
			p.mistake(line, "%v", err)
		}
	case scriptSection:
		if p.vcenters == nil {
			p.mistake(line, "section %q has to come before the script", fleetSection)
			return
		}
		s.steps = p.script(string(section.Data), line+1)
		p.scripted = true
		s.Held = p.held
	default:
		p.namedConfiguration(section, line)
	}
}

// namedConfiguration reads a further configuration, for the commands that give it to a
// daemon.
func (p *parser) namedConfiguration(section txtar.File, line int) {
	switch {
	case !strings.HasSuffix(section.Name, mergedSuffix) && !strings.HasSuffix(section.Name, wholeSuffix):
		p.mistake(line, "section %q is unknown", section.Name)
	case p.scripted:
		p.mistake(line, "section %q has to come before the script", section.Name)
	default:
		c, err := readConfiguration(section.Name, section.Data, p.vcenters)
		if err != nil {
			p.mistake(line, "%v", err)
			c = &configuration{}
		}
		c.line = line
		p.configs[section.Name] = c
	}
}

// A step is one line of a script.
type step struct {
	file string
	line int
	text string
	do   action
	// inner is what a repeat repeats.
	inner []step
	times int
}

func (s *step) String() string { return fmt.Sprintf("%s:%d: %s", s.file, s.line, s.text) }

// A parser collects mistakes.
type parser struct {
	file     string
	vcenters []string
	// configs are the further configurations by their section, scripted says that
	// the script is read.
	configs  map[string]*configuration
	scripted bool
	// nodes are the names and patterns that have been created so far.
	nodes    []string
	asserts  bool
	held     time.Duration
	mistakes []error
}

func (p *parser) mistake(line int, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s:%d: "+format, append([]any{p.file, line}, args...)...))
}

// script reads the lines of a script, the first of which has the given number.
func (p *parser) script(text string, first int) []step {
	var steps []step
	var opened *step // the repeat that is open
	number := first - 1
	for raw := range strings.Lines(text) {
		number++
		words, err := split(raw)
		if err != nil {
			p.mistake(number, "%v", err)
			continue
		}
		if len(words) == 0 {
			continue
		}
		line := step{file: p.file, line: number, text: strings.TrimSpace(raw)}
		switch {
		case slices.Equal(words, []string{"}"}):
			if opened == nil {
				p.mistake(number, "} closes nothing")
				continue
			}
			steps, opened = append(steps, *opened), nil
		case words[0] == "repeat":
			if opened != nil {
				p.mistake(number, "a repeat cannot hold another")
				continue
			}
			if line.times, err = repeats(words); err != nil {
				p.mistake(number, "%v", err)
			}
			opened = &line
		default:
			if line.do, err = p.command(words); err != nil {
				p.mistake(number, "%v", err)
			}
			if opened != nil {
				opened.inner = append(opened.inner, line)
			} else {
				steps = append(steps, line)
			}
		}
	}
	if opened != nil {
		p.mistake(opened.line, "the repeat is never closed")
	}
	if !p.asserts {
		p.mistake(number, "the script expects nothing")
	}
	return steps
}
