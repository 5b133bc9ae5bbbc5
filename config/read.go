package config

import (
	"fmt"
	"strings"
)

// Read reads and validates a configuration file, in whichever format it is, and
// the CA files that it names. Environ are environment variables as os.Environ
// returns them; the vSphere CPI's among them override the file. The error of a
// file with mistakes is of type Errors and holds all of them; a file that cannot
// be read gives another error, which names the file.
func Read(path string, environ ...string) (*Config, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(path, data, environ...)
}

// Parse is Read with the content of the file at hand; file names it in
// messages. Relative paths in it are relative to the working directory.
func Parse(file string, data []byte, environ ...string) (*Config, error) {
	return Options{Environ: environ}.Parse(file, data)
}

// load reads and validates a file.
func load(file string, data []byte, o Options) (l *loaded, err error) {
	p := &problems{file: file, words: &yamlWords, stops: true}
	if len(data) > MaxFile {
		p.errorf(position{}, "the file %s", tooLarge(int64(len(data))))
		return nil, p.err()
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			recovered(thrown)
			l, err = nil, p.err()
		}
	}()
	read := readYAML
	if isINI(data) {
		p.words = &iniWords
		read = readINI
	}
	s := read(data, p)
	if s == nil {
		return nil, p.err()
	}
	s.override(o.Environ, p)
	c := &checker{problems: p, skipFiles: o.SkipFiles}
	config := c.validate(s)
	if err := p.err(); err != nil {
		return nil, err
	}
	config.Warnings = sorted(p.warnings, func(w Warning) Error { return Error(w) })
	s.nameVCenters(config.Warnings)
	config.Notes = sorted(p.notes, func(w Warning) Error { return Error(w) })
	if p.unsaid > 0 {
		last := config.Warnings[len(config.Warnings)-1]
		config.Warnings = append(config.Warnings, Warning{File: file, Line: max(last.Line, 1), Message: fmt.Sprintf("there are %d more warnings than these", p.unsaid)})
	}
	return &loaded{config: config, schema: s, fleet: c.inherited}, nil
}

// nameVCenters says of warnings in whose entries they are, by the paths that the parser has
// made. Where two entries have the same one, cut short, neither is named.
func (s *schema) nameVCenters(warnings []Warning) {
	for i := range warnings {
		w := &warnings[i]
		names := map[string]bool{}
		for _, e := range s.vcenters {
			rest, inside := strings.CutPrefix(w.Field, e.at.path)
			if inside && e.at.path != "" && (rest == "" || strings.ContainsRune(".[ ", rune(rest[0]))) {
				names[e.name] = true
				w.VCenter = e.name
			}
		}
		if len(names) > 1 {
			w.VCenter = ""
		}
	}
}
