package topology

import (
	"errors"
	"fmt"
	"strings"
)

// The outcomes of looking for a machine or its placement, besides finding it.
// They are never interchangeable: only ErrAbsent lets a Node be deleted.
var (
	// ErrAbsent: every vCenter answered completely and none has the machine.
	ErrAbsent = errors.New("no such machine")
	// ErrUnknown: something that had to be read could not be, so nothing can
	// be said.
	ErrUnknown = errors.New("unknown")
	// ErrAmbiguous: several answers are equally right, so none is picked.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrMissing: everything could be read and a required value is not there.
	ErrMissing = errors.New("missing")
	// ErrInvalid: the value that was found cannot be a label value.
	ErrInvalid = errors.New("invalid")
)

// ErrNoCategory means that a vCenter does not show a tag category to the account. It
// may not exist, or the account may not read it; the vCenter does not say which. Errors that
// wrap it wrap ErrUnknown too.
var ErrNoCategory = errors.New("no such tag category that the account can see")

// ErrNotPermitted means that the account may not read the tags of an object: it lacks the privilege System.Read there.
var ErrNotPermitted = errors.New("the account lacks the privilege System.Read on it")

// ErrNotRead means that something was not read for the first time yet. After a reading that failed, its error
// takes the place of this one.
var ErrNotRead = errors.New("not read yet")

// Errorf returns an error that is of a kind, such as ErrUnknown, for errors.Is, and whose text
// is that of the format alone: the kind's name tells a person nothing. What %w wraps is in
// it too.
func Errorf(kind error, format string, args ...any) error {
	return &ofKind{fmt.Errorf(format, args...), kind}
}

type ofKind struct {
	error
	kind error
}

func (e *ofKind) Unwrap() []error { return []error{e.kind, e.error} }

// Kinds are the kinds of an error that is of several.
type Kinds []error

func (k Kinds) Error() string {
	texts := make([]string, len(k))
	for i, kind := range k {
		texts[i] = kind.Error()
	}
	return strings.Join(texts, ", ")
}

// Unwrap returns each kind.
func (k Kinds) Unwrap() []error { return k }
