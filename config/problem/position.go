package problem

import (
	"fmt"
	"regexp"

	"vzones/topology/quote"
)

// InEnvironment is the line of what an environment variable says.
const InEnvironment = -1

// Position is where in the file something was written.
type Position struct {
	Line int
	Path string
}

// String returns the position as a message names it beside its own.
func (at Position) String() string {
	if at.Line == InEnvironment {
		return "the " + at.Path
	}
	return fmt.Sprintf("%s in line %d", at.Path, at.Line)
}

// Key names what stands there, without its line: a message about it is the same when
// lines are written before it.
func (at Position) Key() string {
	if at.Line == InEnvironment {
		return at.String()
	}
	return at.Path
}

// Variable is the position of an environment variable.
func Variable(name string) Position {
	return Position{InEnvironment, "environment variable " + name}
}

// Child is the path to a key of a mapping.
func Child(path, key string) string {
	switch {
	case !bareKey.MatchString(key):
		return path + "[" + quote.Value(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// InDefault is the line of what nothing sets.
const InDefault = -2
