package cli

import (
	"errors"
	"fmt"
	"io"

	"vzones/config"
)

// EnvUsage describes the flag --env.
const EnvUsage = "let variables of this shell, such as VSPHERE_USER, override the file"

// Mistakes prints the mistakes of an error, if it consists of mistakes.
func Mistakes(to io.Writer, err error) error {
	if all, ok := errors.AsType[config.Errors](err); ok {
		fmt.Fprintln(to, all)
		return ErrFindings
	}
	return err
}

// PrintWarnings prints what is not a mistake, each after its place and kind.
func PrintWarnings(to io.Writer, kind string, all []config.Warning) {
	for _, w := range all {
		place := ""
		if w.Line > 0 {
			place = fmt.Sprintf("%s:%d: ", w.File, w.Line)
		}
		field := w.Field
		if field != "" {
			field += ": "
		}
		fmt.Fprintf(to, "%s%s: %s%s\n", place, kind, field, w.Message)
	}
}
