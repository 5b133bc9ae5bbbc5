// Package convert writes what was read in another form: as what is in force, with the source
// of each value, as YAML with a Secret, as the CSI driver's file, and the values of other
// charts as those of vzones' chart. It never writes a file, and secrets only into
// Written.Private.
package convert

import (
	"vzones/config"
	"vzones/config/parse"
)

// Written is a configuration in another form.
type Written struct {
	// Data has no secrets in it.
	Data []byte
	// Private has: it is for nothing but the place that its owner names. It is
	// empty if there are no secrets to write.
	Private config.Password
	// PrivateLine is the line of the file that has the first of them, 0 if there are none.
	PrivateLine int
	// Warnings are those of the file that was read.
	Warnings []config.Warning
	// Notes are those of the file too, of Effective alone.
	Notes []config.Warning
	// Lost is what that file says and the other form does not, by line.
	Lost []config.Warning
}

// loaded is a file that is to be written in another form.
type loaded struct{ *parse.Document }

// load reads and validates a file.
func load(file string, data []byte, o parse.Options) (*loaded, error) {
	d, err := parse.Load(file, data, o)
	if err != nil {
		return nil, err
	}
	return &loaded{d}, nil
}
