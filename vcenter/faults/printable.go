package faults

import (
	"regexp"
	"strings"

	"vzones/internal/quote"
)

var (
	// localPort matches our side of a connection in an error of package net.
	localPort = regexp.MustCompile(`\S+:\d+->`)
	// request matches what package net/http puts before the error of a request. Which server it
	// went to is said before.
	request = regexp.MustCompile(`\b(Get|Head|Post|Put|Patch|Delete) "https?://[^"]*(": |$)`)
	// sessionObject matches the ID of an object that belongs to a session, which has
	// the session's ID in it. The text may end within either.
	sessionObject = regexp.MustCompile(`session\[[^\]]*(\][-0-9A-Za-z]*|$)`)
)

// searched is how many bytes of an error are searched for what is not printed, and more than are printed. A server
// can send megabytes.
const searched = 4 * quote.LongestText

// Printable is an error that reads the same for the same failure, on one line of a bounded
// length whatever the vCenter answers, and has nothing secret in it: neither the local port,
// which differs from connection to connection, nor the ID of the session, nor the URL.
type Printable struct{ Err error }

func (p Printable) Error() string {
	text := p.Err.Error()
	size := len(text)
	text = text[:min(size, searched)]
	text = request.ReplaceAllString(localPort.ReplaceAllString(text, ""), "")
	text = sessionObject.ReplaceAllString(text, "of the session")
	text = strings.ReplaceAll(text, "\n", "; ") // errors.Join writes them
	if size <= searched {
		size = len(text)
	}
	return quote.TextOf(text, size)
}

// Unwrap returns the error as it came.
func (p Printable) Unwrap() error { return p.Err }
