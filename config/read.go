package config

import (
	"fmt"
	"os"
)

// Read reads and validates a configuration file and the CA files that it
// names. The error of a file with mistakes is of type Errors and holds all of
// them; a file that cannot be read gives another error, which names the file.
func Read(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse is Read with the content of the file at hand; file names it in
// messages. Relative paths in it are relative to the working directory.
func Parse(file string, data []byte) (*Config, error) {
	p := &problems{file: file}
	s := readYAML(data, p)
	if s == nil {
		return nil, p.err()
	}
	c := validate(s, p)
	if err := p.err(); err != nil {
		return nil, err
	}
	c.Warnings = sorted(p.warnings, func(w Warning) Error { return Error(w) })
	return c, nil
}
