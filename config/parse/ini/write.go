package ini

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Writer writes a file in the INI format, as gcfg reads it.
type Writer struct{ strings.Builder }

// Section begins a section, with a name or without (""). A name has no control
// characters.
func (w *Writer) Section(section, name string) {
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	if name == "" {
		fmt.Fprintf(w, "[%s]\n", section)
		return
	}
	fmt.Fprintf(w, "[%s %s]\n", section, quoted(name))
}

// Key writes a key with its value, which iniHolds.
func (w *Writer) Key(key, value string) {
	fmt.Fprintf(w, "%s = %s\n", key, quoted(value))
}

// quoted puts a text in quotes: outside of them a ; or # would end it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// Holds reports whether a value can be written in the INI format. It has no escape for
// a carriage return, which it drops, nor for a NUL.
func Holds(s string) bool {
	return !strings.ContainsAny(s, "\r\x00") && utf8.ValidString(s)
}
