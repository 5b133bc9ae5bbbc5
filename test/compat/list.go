package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// A kind of entry.
const (
	kindDemo     = "demo"
	kindScenario = "scenario"
	kindTest     = "test"
)

// An entry is one thing that is run with each minor.
type entry struct {
	Name    string `yaml:"name"`
	Kind    string `yaml:"kind"`
	Covers  string `yaml:"covers"`
	From    string `yaml:"from"`
	Because string `yaml:"because"`
}

//go:embed list.yaml
var listYAML []byte

// readList reads a list of entries.
func readList(data []byte) ([]entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var all []entry
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("test/compat/list.yaml: %w", err)
	}
	seen := make(map[string]bool)
	for _, e := range all {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("test/compat/list.yaml: %q: %w", e.Name, err)
		}
		if seen[e.Name] {
			return nil, fmt.Errorf("test/compat/list.yaml: %q is there twice", e.Name)
		}
		seen[e.Name] = true
	}
	return all, nil
}

func (e entry) check() error {
	switch e.Kind {
	case kindDemo, kindScenario, kindTest:
	default:
		return fmt.Errorf("kind %q is not demo, scenario or test", e.Kind)
	}
	if e.Name == "" || e.Covers == "" {
		return fmt.Errorf("name and covers are required")
	}
	if (e.From == "") != (e.Because == "") {
		return fmt.Errorf("from and because come together")
	}
	if e.From != "" {
		if _, err := minorNumber(e.From); err != nil {
			return err
		}
	}
	return nil
}

// leftOut says why an entry does not run with a minor, or nothing.
func (e entry) leftOut(minor string) (string, error) {
	if e.From == "" {
		return "", nil
	}
	from, err := minorNumber(e.From)
	if err != nil {
		return "", err
	}
	n, err := minorNumber(minor)
	if err != nil {
		return "", err
	}
	if n >= from {
		return "", nil
	}
	return fmt.Sprintf("from %s on: %s", e.From, e.Because), nil
}

// only returns the entries with the given names, all where none is given.
func only(all []entry, names []string) ([]entry, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []entry
	for _, name := range names {
		i := slices.IndexFunc(all, func(e entry) bool { return e.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("ONLY=%s: test/compat/list.yaml has no such entry", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// minorNumber returns 36 of 1.36.
func minorNumber(minor string) (int, error) {
	rest, ok := strings.CutPrefix(minor, "1.")
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n <= 0 || strconv.Itoa(n) != rest {
		return 0, fmt.Errorf("%q is not a minor of Kubernetes, such as 1.36", minor)
	}
	return n, nil
}
