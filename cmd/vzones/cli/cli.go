// Package cli is what the tool's commands have in common: the streams, the exit statuses, the
// output formats, colors and progress.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"vzones/config"
	"vzones/internal/quote"
)

// ErrFindings means that something is wrong with what was looked at, which was printed. The exit
// status is 1.
var ErrFindings = errors.New("there are findings")

// ErrReported means that a failure was printed. The exit status is 2, as for any other error.
var ErrReported = errors.New("there was a failure")

// A Tool has the streams of one run.
type Tool struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Started reports whether the arguments of a command are valid. Until then an error is about
	// its usage.
	Started bool
	// stdinRead reports whether standard input was read, which works once.
	stdinRead bool
}

// Read returns the content of a file, or of standard input for -.
func (t *Tool) Read(file string) ([]byte, error) {
	if file == "-" {
		return t.readStdin()
	}
	data, err := config.ReadFile(file)
	if err != nil {
		if info, unseen := os.Stat(file); unseen == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			err = fmt.Errorf("%w: write - in its place, and pipe it to standard input", err)
		}
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return data, nil
}

func (t *Tool) readStdin() ([]byte, error) {
	if t.stdinRead {
		return nil, errors.New("standard input is named twice: it can be read once")
	}
	t.stdinRead = true
	data, err := io.ReadAll(io.LimitReader(t.Stdin, config.MaxSize+1))
	if err == nil && len(data) > config.MaxSize {
		err = fmt.Errorf("it has more than %d bytes", config.MaxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return data, nil
}

// Write writes to standard output.
func (t *Tool) Write(data []byte) error {
	if _, err := t.Stdout.Write(data); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// Width returns how many columns the terminal of standard output has, 0 if it is not one.
func (t *Tool) Width() int {
	f, ok := t.Stdout.(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// WriteConfig says how a command gets its configuration.
const WriteConfig = "write the configuration as --config FILE"

// NoArguments refuses arguments. Wants says what the command takes instead.
func NoArguments(wants string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no arguments, and %s is one: %s", cmd.CommandPath(), quote.Value(args[0]), wants)
	}
}

// Arguments wants a number of arguments from one on, of what they are called, such as "a file"; most is
// 0 for any number.
func Arguments(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s wants %s", cmd.CommandPath(), what)
		case most > 0 && len(args) > most:
			return fmt.Errorf("%s wants %s, and %s is more than that", cmd.CommandPath(), what, quote.Value(args[most]))
		}
		return nil
	}
}

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

// progressDelay is how long something may take before a line says what it is.
const progressDelay = 2 * time.Second

// Progress says on standard error what is going on, if that is a terminal and it takes longer than
// two seconds. In a pipe or a file it would depend on how fast a vCenter is. The caller calls end before it prints
// anything else.
func (t *Tool) Progress(what string) (end func() bool) {
	return time.AfterFunc(progressDelay, func() {
		if isTerminal(t.Stderr) {
			fmt.Fprintln(t.Stderr, what+" …")
		}
	}).Stop
}
