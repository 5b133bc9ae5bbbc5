package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"vzones/test/fleet"
)

// A Scenario is a fleet, a configuration, and a script of events and expectations.
type Scenario struct {
	// Name is the name of the file without its extension.
	Name string
	// Story is the description of the scenario.
	Story string
	// ByHand is the reason that kubelets cannot register its Nodes, or empty.
	ByHand string
	// HasKubelets reports whether it starts kubelets.
	HasKubelets bool
	// Held is the total time of the hold commands, close to the minimum duration.
	Held time.Duration

	fleet  string
	config *configuration // the section config.yaml
	steps  []step
}

// Sections of a file in order. Further configurations precede the script.
const (
	fleetSection  = "fleet.yaml"
	configSection = "config.yaml"
	scriptSection = "script"
)

// Load reads a scenario. It joins all errors, each with file and line.
func Load(path string) (*Scenario, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	p := &parser{file: filepath.Base(path), configs: map[string]*configuration{}}
	s := &Scenario{Name: strings.TrimSuffix(p.file, ".txtar"), Story: strings.TrimSpace(string(archive.Comment))}
	line := 1 + bytes.Count(archive.Comment, []byte("\n"))
	for _, section := range archive.Files {
		switch {
		case section.Name == fleetSection:
			spec, err := fleet.Parse(section.Data)
			if err != nil {
				p.addError(line, "%v", err)
				break
			}
			s.fleet = string(section.Data)
			for _, v := range spec.VCenters {
				p.vcenters = append(p.vcenters, v.Name)
			}
		case section.Name == scriptSection:
			s.steps = p.script(string(section.Data), line+1)
		case strings.HasSuffix(section.Name, mergedSuffix), strings.HasSuffix(section.Name, wholeSuffix):
			if p.configs[section.Name], err = readConfiguration(section.Name, section.Data); err != nil {
				p.addError(line, "%v", err)
			}
		default:
			p.addError(line, "unknown section %q", section.Name)
		}
		line += 1 + bytes.Count(section.Data, []byte("\n"))
	}
	s.config = p.configs[configSection]
	s.Held = p.held
	s.ByHand = p.byHand
	s.HasKubelets = p.hasKubelets
	if s.fleet == "" || s.config == nil || s.steps == nil {
		p.addError(line, "a scenario needs the sections %s, %s and %s", fleetSection, configSection, scriptSection)
	}
	return s, errors.Join(p.errs...)
}

type step struct {
	file   string
	line   int
	text   string
	action action
	// inner are the steps of a repeat.
	inner []step
	times int
}

func (s *step) String() string { return fmt.Sprintf("%s:%d: %s", s.file, s.line, s.text) }

// A parser collects errors.
type parser struct {
	file     string
	vcenters []string
	// configs are the configurations by section.
	configs map[string]*configuration
	held    time.Duration
	// byHand and hasKubelets are copies of the Scenario's fields.
	byHand      string
	hasKubelets bool
	errs        []error
}

func (p *parser) addError(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: "+format, append([]any{p.file, line}, args...)...))
}

// script parses a script whose first line has the given number.
func (p *parser) script(text string, first int) []step {
	var steps []step
	var opened *step // the current repeat
	number := first - 1
	for raw := range strings.Lines(text) {
		number++
		words, err := split(raw)
		line := step{file: p.file, line: number, text: strings.TrimSpace(raw)}
		switch {
		case err != nil || len(words) == 0:
		case slices.Equal(words, []string{"}"}) && opened != nil:
			steps = append(steps, *opened)
			opened = nil
		case words[0] == "repeat" && opened == nil:
			line.times, err = repeats(words)
			opened = &line
		default:
			line.action, err = p.command(words)
			if opened != nil {
				opened.inner = append(opened.inner, line)
			} else {
				steps = append(steps, line)
			}
		}
		if err != nil {
			p.addError(number, "%v", err)
		}
	}
	if opened != nil {
		p.addError(opened.line, "the closing } of this repeat is missing")
	}
	return steps
}
