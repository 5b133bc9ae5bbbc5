// Package quote formats untrusted values, so that a log line, an Event, an error or a metric with such
// a value stays one short line. It also finds the known name nearest to a typo.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits in bytes.
const (
	// Longest limits values. It exceeds a UUID, a label name, an IPv6 address and most inventory paths.
	Longest     = 128
	LongestName = 256
	// LongestText exceeds the room in an Event.
	LongestText = 1024
	// LongestNote limits Event messages to a readable line of kubectl describe.
	LongestNote = 400
	// LongestAdvice limits the advice in an Event message.
	LongestAdvice = 250
	LongestLine   = 4096
)

// Value returns a value in double quotes with Go's escapes, truncated to Longest bytes.
func Value(s string) string {
	if len(s) <= Longest {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(beginning(s, Longest)), len(s))
}

// Plain is Value without quotes for at most Longest bytes of printable ASCII without blanks and quotes.
func Plain(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf-1 || r == '"' || r == '\\' }
	if s == "" || len(s) > Longest || strings.ContainsFunc(s, odd) {
		return Value(s)
	}
	return s
}

// Text returns a text on one line, with unprintable characters escaped and truncated to LongestText bytes.
func Text(s string) string { return text(s, LongestText, len(s)) }

// TextOf is Text for the beginning of a text of size bytes.
func TextOf(beginning string, size int) string { return text(beginning, LongestText, size) }

// Name is Text with the limit LongestName.
func Name(s string) string { return text(s, LongestName, len(s)) }

func text(s string, longest, size int) string {
	shown := escaped(beginning(s, min(len(s), longest)))
	if size <= longest && len(shown) <= longest {
		return shown
	}
	return fmt.Sprintf("%s… (%d bytes)", beginning(shown, min(len(shown), longest)), size)
}

// Line returns a log message on one line, with semicolons for line breaks.
func Line(s string) string {
	return text(strings.ReplaceAll(beginning(s, min(len(s), LongestLine)), "\n", "; "), LongestLine, len(s))
}

// Note is Line with the limit LongestNote.
func Note(s string) string { return note(s, LongestNote) }

// NoteWith is Note for a text and advice, of which the first LongestAdvice bytes always remain.
func NoteWith(text, advice string) string {
	if advice == "" {
		return Note(text)
	}
	advice = "; " + note(advice, LongestAdvice)
	return note(text, LongestNote-len(advice)) + advice
}

func note(s string, longest int) string {
	const more = "…"
	shown := escaped(strings.ReplaceAll(beginning(s, min(len(s), longest+1)), "\n", "; "))
	if len(shown) <= longest && len(s) <= longest {
		return shown
	}
	return beginning(shown, min(len(shown), longest-len(more))) + more
}

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

// beginning returns at most n bytes, without a partial character at the end.
func beginning(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Most is the default number of items that a message lists.
const Most = 3

// Some lists at most most names, and the number of the remaining names.
func Some(names []string, most int) string { return some(names, most, ", ", " ") }

// Reasons is Some for sentences, such as the texts of errors.
func Reasons(texts []string, most int) string { return some(texts, most, "; ", "; ") }

func some(parts []string, most int, separator, last string) string {
	if len(parts) <= most {
		return strings.Join(parts, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(parts[:most], separator), last, len(parts)-most)
}

// Errors joins errors on one line. The text contains at most most errors, but errors.Is and errors.As match
// all of them.
func Errors(most int, errs ...error) error {
	var all joined
	all.most = most
	for _, err := range errs {
		if err != nil {
			all.errs = append(all.errs, err)
		}
	}
	switch len(all.errs) {
	case 0:
		return nil
	case 1:
		return all.errs[0]
	}
	return &all
}

type joined struct {
	errs []error
	most int
}

func (j *joined) Error() string {
	texts := make([]string, len(j.errs))
	for i := range j.errs[:min(len(j.errs), j.most)] {
		texts[i] = j.errs[i].Error()
	}
	return Reasons(texts, j.most)
}

func (j *joined) Unwrap() []error { return j.errs }
