package faults

import (
	"regexp"
	"strings"

	"vzones/topology/quote"
)

var (
	// localPort matches our side of a connection in an error of package net.
	localPort = regexp.MustCompile(`\S+:\d+->`)
	// request matches what package net/http puts before the error of a request. Which server it
	// went to is said before.
	request = regexp.MustCompile(`\b(Get|Head|Post|Put|Patch|Delete) "https?://[^"]*": `)
	// sessionObject matches the ID of an object that belongs to a session, which has
	// the session's ID in it.
	sessionObject = regexp.MustCompile(`session\[[^\]]*\][-0-9A-Za-z]*`)
)

// Printable is an error that reads the same for the same failure, on one line of a bounded
// length whatever the vCenter answers, and has nothing secret in it: neither the local port,
// which differs from connection to connection, nor the ID of the session, nor the URL.
type Printable struct{ Err error }

func (p Printable) Error() string {
	text := request.ReplaceAllString(localPort.ReplaceAllString(p.Err.Error(), ""), "")
	text = sessionObject.ReplaceAllString(text, "of the session")
	return quote.Text(strings.ReplaceAll(text, "\n", "; ")) // of errors that are joined
}

// Unwrap returns the error as it came.
func (p Printable) Unwrap() error { return p.Err }
