// Package quote shows values that a kubelet, a guest, the owner of a VM or the author of a
// configuration chooses. Whatever they are, a log line, an Event, an error or a metric that shows them stays
// one short line. For a name that is not known it finds the known name that is nearest.
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
	// LongestName is how many bytes of a name or an inventory path are shown, as Name does.
	LongestName = 256
	// LongestText is how many bytes of a text are shown: more than an Event has room for.
	LongestText = 1024
	// LongestNote is how long the message of an Event may be: what a person reads in a line
	// of kubectl describe. API servers take 1,024 bytes, and more of the older API.
	LongestNote = 400
	// LongestAdvice is how much of that may say what to do.
	LongestAdvice = 250
	// LongestLine is how many bytes of a message a log line has.
	LongestLine = 4096
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
func Text(s string) string { return text(s, LongestText, len(s)) }

// TextOf is Text for the beginning of a text that has size bytes in all.
func TextOf(beginning string, size int) string { return text(beginning, LongestText, size) }

// Name is Text for names and inventory paths that stand without quotes: of one that is
// longer than LongestName bytes it returns the beginning, and how long it is.
func Name(s string) string { return text(s, LongestName, len(s)) }

func text(s string, longest, size int) string {
	shown := escaped(beginning(s, min(len(s), longest)))
	if size <= longest && len(shown) <= longest {
		return shown
	}
	return fmt.Sprintf("%s… (%d bytes)", beginning(shown, min(len(shown), longest)), size)
}

// Line returns a message of ours for the log, on one line. Semicolons take the place of
// line breaks, as in errors that are joined. Of one that is longer than LongestLine bytes
// it returns the beginning, and how long it is.
func Line(s string) string {
	return text(strings.ReplaceAll(beginning(s, min(len(s), LongestLine)), "\n", "; "), LongestLine, len(s))
}

// Note returns a message of ours for an Event: as Line does, and never longer than
// LongestNote bytes in all.
func Note(s string) string { return note(s, LongestNote) }

// NoteWith is Note of a text and what to do about it, behind a semicolon: where there is no room for
// both, the text is cut. What to do is cut if it is longer than LongestAdvice.
func NoteWith(text, advice string) string {
	if advice == "" {
		return Note(text)
	}
	advice = "; " + note(advice, LongestAdvice)
	return note(text, LongestNote-len(advice)) + advice
}

// note returns a text on one line of at most so many bytes.
func note(s string, longest int) string {
	const more = "…"
	shown := escaped(strings.ReplaceAll(beginning(s, min(len(s), longest+1)), "\n", "; "))
	if len(shown) <= longest && len(s) <= longest {
		return shown
	}
	return beginning(shown, min(len(shown), longest-len(more))) + more
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
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Most is how many of many things a message names, where nothing else is said.
const Most = 3

// Some lists names with commas between them: the first of them, at most so many, and how
// many more there are. Each name has to be fit to be shown.
func Some(names []string, most int) string { return some(names, most, ", ", " ") }

// Reasons lists sentences, such as the texts of errors, likewise, with semicolons between
// them.
func Reasons(texts []string, most int) string { return some(texts, most, "; ", "; ") }

func some(parts []string, most int, separator, last string) string {
	if len(parts) <= most {
		return strings.Join(parts, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(parts[:most], separator), last, len(parts)-most)
}

// Errors joins errors on one line: its text has those of the first of them, at most so
// many, and how many more there are. All of them are in it, for errors.Is and errors.As.
// It is nil if all are nil.
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

// joined are errors that are reported together.
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
