package topology

import (
	"errors"
	"fmt"
	"strings"
)

// The outcomes of a search for a VM or its placement, besides success. Only ErrAbsent allows the
// deletion of a Node.
var (
	// ErrAbsent: every vCenter answered completely and none has the VM.
	ErrAbsent = errors.New("no such VM")
	// ErrUnknown: a necessary read failed.
	ErrUnknown = errors.New("unknown")
	// ErrAmbiguous: several answers are equally valid.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrMissing: everything was read, and a required value does not exist.
	ErrMissing = errors.New("missing")
	ErrInvalid = errors.New("invalid")
)

// ErrNoCategory means that a vCenter does not show a tag category to the account. Errors that wrap
// it also wrap ErrUnknown.
var ErrNoCategory = errors.New("no such tag category that the account can see")

// ErrNotPermitted means that the account lacks System.Read on an object, and so cannot read its tags.
var ErrNotPermitted = errors.New("the account lacks the privilege System.Read on it")

// ErrNotRead means that the first read has neither completed nor failed yet.
var ErrNotRead = errors.New("not yet read")

// Errorf returns an error of a kind, such as ErrUnknown, for errors.Is.
func Errorf(kind error, format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), kind}
}

type kindError struct {
	error
	kind error
}

func (e *kindError) Unwrap() []error { return []error{e.kind, e.error} }

// Kinds are several kinds for one Errorf.
type Kinds []error

func (k Kinds) Error() string {
	texts := make([]string, len(k))
	for i, kind := range k {
		texts[i] = kind.Error()
	}
	return strings.Join(texts, ", ")
}

func (k Kinds) Unwrap() []error { return k }
