// Package quote shows values that somebody else chooses, such as a kubelet, a guest or
// the owner of a machine. Whatever they are, a log line, an Event, an error or a metric
// that shows them stays one short line.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// Longest is how many bytes of a value are shown. It is longer than a UUID, a name
	// of a Kubernetes object's label and an IPv6 address, and than most inventory paths.
	Longest = 128
	// LongestText is how many bytes of a text are shown: more than an Event has room for.
	LongestText = 1024
)

// Value returns a value in double quotes with Go's escapes. Of one that is longer than
// Longest bytes it returns the beginning, and how long it is.
func Value(s string) string {
	if len(s) <= Longest {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(beginning(s, Longest)), len(s))
}

// Plain returns a value without quotes if it is at most Longest bytes long and all of it
// is printable ASCII without blanks and quotes, and otherwise what Value returns.
func Plain(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf-1 || r == '"' || r == '\\' }
	if s == "" || len(s) > Longest || strings.ContainsFunc(s, odd) {
		return Value(s)
	}
	return s
}

// Text returns a text, such as another server's message, on one line: what cannot be
// printed is escaped. Of one that is longer than LongestText bytes it returns the
// beginning, and how long it is.
func Text(s string) string {
	shown := s
	if len(s) > LongestText {
		shown = beginning(s, LongestText)
	}
	shown = escaped(shown)
	if len(s) > LongestText {
		return fmt.Sprintf("%s… (%d bytes)", shown, len(s))
	}
	return shown
}

// escaped escapes what cannot be printed, and nothing else.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// beginning returns at most n bytes, without a part of a character at the end.
func beginning(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
