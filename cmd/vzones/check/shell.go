package check

import (
	"strconv"
	"strings"
)

// line returns a command for a shell. It is empty if a word cannot be shown as it is: what is
// printed has to be what is meant.
func line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strconv.IsPrint(r) }) {
			return ""
		}
		quoted[i] = w
		if strings.ContainsFunc(w, needsQuotes) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// needsQuotes reports whether a shell may take a character for something else than itself.
func needsQuotes(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_./:=@,+", r)
}
