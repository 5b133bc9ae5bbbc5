package config

import (
	"fmt"
	"strings"

	"vzones/internal/quote"
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
	// none. Mistakes do not have it: an entry with a mistake is not a vCenter yet.
	VCenter string
	// IsCSI reports whether a warning is of what the CSI driver sees otherwise than Nodes have it. It
	// matters only in a cluster with that driver. Mistakes do not have it.
	IsCSI bool
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

// Errors are all mistakes of a file, by line; there is at least one. Beside them are the Warnings of keys in whose
// place another one is to be written, which may be why something is missing.
type Errors []Error

// Error returns one line for each mistake.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// A Warning is something in the file that is valid and does not do what one
// might expect, such as a setting without effect. It is made like an Error.
type Warning = Error

// A ValueError says what is wrong with a value and what to write. Found may show parts of the value,
// so it is left out where those might be a secret's.
type ValueError struct{ Message, Found string }

// Found shows a value in a message, unless it may hold credentials.
func Found(s string) string {
	// An @ may separate credentials from a host.
	if strings.Contains(s, "@") {
		return ""
	}
	return " (found " + quote.Value(s) + ")"
}
