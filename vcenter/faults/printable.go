package faults

import (
	"context"
	"regexp"
	"strings"

	"vzones/internal/quote"
)

var (
	// localPort matches a connection's local address in errors of package net.
	localPort = regexp.MustCompile(`\S+:\d+->`)
	// request matches the prefix of errors of package net/http.
	request = regexp.MustCompile(`\b(Get|Head|Post|Put|Patch|Delete) "https?://[^"]*(": |$)`)
	// sessionObject matches an object ID with the session ID in it, also if truncated.
	sessionObject = regexp.MustCompile(`session\[[^\]]*(\][-0-9A-Za-z]*|$)`)
)

// maxSearched bounds the part of a text, in bytes, that is searched. A server can send megabytes.
const maxSearched = 4 * quote.LongestText

// Printable is an error with a stable text on one line of bounded length. It omits the local port,
// the URL and the session ID, which is a secret, and names a timeout in plain words.
type Printable struct{ Err error }

func (p Printable) Error() string {
	text := p.Err.Error()
	size := len(text)
	text = text[:min(size, maxSearched)]
	text = request.ReplaceAllString(localPort.ReplaceAllString(text, ""), "")
	text = sessionObject.ReplaceAllString(text, "of the session")
	text = strings.ReplaceAll(text, context.DeadlineExceeded.Error(), "no answer in time")
	text = strings.ReplaceAll(text, "\n", "; ") // From errors.Join.
	if size <= maxSearched {
		size = len(text)
	}
	return quote.TextOf(text, size)
}

// Unwrap returns the original error.
func (p Printable) Unwrap() error { return p.Err }
