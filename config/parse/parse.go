// Package parse reads configurations: strictly, with every default filled in and every
// mistake at its line.
//
// A file goes through three steps that know nothing of each other. A format's reader turns
// text into the schema, in which each field remembers where it was written: package yaml or
// package ini. Environment variables override what is there. Validation turns the schema
// into a Config, wherever its fields came from.
//
// The YAML format is that of the vSphere CPI (kubernetes/cloud-provider-vsphere), the INI
// format that of the CPI before, of the provider in Kubernetes itself before that, and of the
// vSphere CSI driver. What loads there loads here and means the same, apart from what
// docs/reference/compared-with-the-cpi.md lists.
//
// The package reads the configuration file and the CA files that it names, but not the
// directory with credentials. Reading keeps no state: it may be done again at each change of
// one of those files.
package parse

import (
	"fmt"
	"strings"

	"vzones/config"
	"vzones/config/parse/ini"
	"vzones/config/parse/yaml"
	"vzones/config/problem"
	"vzones/config/readfile"
	"vzones/config/schema"
	"vzones/config/validate"
)

// Read reads and validates a configuration file, in whichever format it is, and
// the CA files that it names. Environ are environment variables as os.Environ
// returns them; the vSphere CPI's among them override the file. The error of a
// file with mistakes is of type Errors and holds all of them; a file that cannot
// be read gives another error, which names the file.
func Read(path string, environ ...string) (*config.Config, error) {
	return Options{Environ: environ}.Read(path)
}

// Read is the function Read, with options.
func (o Options) Read(path string) (*config.Config, error) {
	read := o.ReadFile
	if read == nil {
		read = readfile.ReadAtMost
	}
	data, err := read(path, readfile.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return o.Parse(path, data)
}

// Parse is Read with the content of the file at hand; file names it in
// messages. Relative paths in it are relative to the working directory.
func Parse(file string, data []byte, environ ...string) (*config.Config, error) {
	return Options{Environ: environ}.Parse(file, data)
}

// Load reads and validates a file.
func Load(file string, data []byte, o Options) (l *Document, err error) {
	p := &problem.List{File: file, Words: &problem.YAMLWords, Stops: true}
	if len(data) > readfile.MaxSize {
		p.Errorf(problem.Position{}, "the file %s", readfile.TooLarge(int64(len(data))))
		return nil, p.Err()
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			problem.Recovered(thrown)
			l, err = nil, p.Err()
		}
	}()
	read := yaml.Read
	if ini.Is(data) {
		p.Words = &problem.INIWords
		read = ini.Read
	}
	s := read(data, p)
	if s == nil {
		return nil, p.Err()
	}
	applyEnvironment(s, o.Environ, p)
	cfg, fleet := validate.File(s, p, o.reader())
	if err := p.Err(); err != nil {
		return nil, err
	}
	cfg.Warnings = problem.Sorted(p.Warnings, func(w config.Warning) config.Error { return config.Error(w) })
	nameVCenters(s, cfg.Warnings)
	cfg.Notes = problem.Sorted(p.Notes, func(w config.Warning) config.Error { return config.Error(w) })
	if p.Omitted > 0 {
		last := cfg.Warnings[len(cfg.Warnings)-1]
		cfg.Warnings = append(cfg.Warnings, config.Warning{File: file, Line: max(last.Line, 1), Message: fmt.Sprintf("there are %d more warnings than these", p.Omitted)})
	}
	return &Document{Config: cfg, Schema: s, Fleet: fleet}, nil
}

// nameVCenters says of warnings in whose entries they are, by the paths that the parser has
// made. Where two entries have the same one, cut short, neither is named.
func nameVCenters(s *schema.File, warnings []config.Warning) {
	for i := range warnings {
		w := &warnings[i]
		names := map[string]bool{}
		for _, e := range s.VCenters {
			rest, inside := strings.CutPrefix(w.Field, e.At.Path)
			if inside && e.At.Path != "" && (rest == "" || strings.ContainsRune(".[ ", rune(rest[0]))) {
				names[e.Name] = true
				w.VCenter = e.Name
			}
		}
		if len(names) > 1 {
			w.VCenter = ""
		}
	}
}

// Options say how a file is read other than by Parse.
type Options struct {
	// Environ are environment variables, see Read.
	Environ []string
	// SkipFiles leaves the files unread that the configuration names, for where
	// they are not: they are in the daemon's Pod. CA is empty then.
	SkipFiles bool
	// ReadFile reads one of them, of at most that many bytes: for somebody who reads the
	// configuration of a Pod from elsewhere. Its errors are those of an open. Nil stands for the
	// files of this machine.
	ReadFile func(path string, most int64) ([]byte, error)
}

// reader returns what reads the files that a configuration names, nil if nothing does.
func (o Options) reader() validate.Reader {
	switch {
	case o.SkipFiles:
		return nil
	case o.ReadFile == nil:
		return readfile.ReadAtMost
	}
	return o.ReadFile
}

// Parse is the function Parse, with options.
func (o Options) Parse(file string, data []byte) (*config.Config, error) {
	l, err := Load(file, data, o)
	if err != nil {
		return nil, err
	}
	return l.Config, nil
}

// Document is a file without mistakes: what it says and what that means.
type Document struct {
	Config *config.Config
	Schema *schema.File
	// Fleet is what config.VCenters were made of, in the same order.
	Fleet []validate.Settings
}
