package config

import (
	"fmt"
	"strings"

	"vzones/internal/quote"
)

// An Error is one error in a configuration file. It never contains a secret.
type Error struct {
	// File is empty for an environment variable.
	File string
	// Line is 1 for an error in the whole file, and 0 for an environment variable.
	Line int
	// Field is the path of the setting in the file's format: vcenter.east.port in YAML,
	// [VirtualCenter "east"] port in INI, or environment variable VSPHERE_USER. It is empty for
	// an error in the whole file.
	Field string
	// Path is the CA file, as configured, if the error is in that file or the file is missing.
	Path    string
	VCenter string
	// IsCSI is true for a warning that matters only in a cluster with the CSI driver.
	IsCSI bool
	// IsOverride is true for a warning about an environment variable that sets a value.
	IsOverride bool
	Message    string
}

func (e Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Field, e.Message)
}

// Errors are all errors of a file, by line. They include warnings about keys to replace, which may
// be the reason why a setting is missing.
type Errors []Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// A Warning is a valid setting whose effect is missing or surprising.
type Warning = Error

// A ValueError describes an invalid value and its fix. Found may quote the value, so it is empty for
// secrets.
type ValueError struct{ Message, Found string }

// Found quotes a value for a message, unless it may contain credentials.
func Found(s string) string {
	// An @ may separate credentials from a host.
	if strings.Contains(s, "@") {
		return ""
	}
	return " (found " + quote.Value(s) + ")"
}
