// Package cli contains the common parts of the tool's commands: streams, exit statuses, output formats,
// colors and progress.
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

// ErrFindings reports that findings or errors of the input are printed. The exit status is 1.
var ErrFindings = errors.New("there are findings")

// ErrReported reports that the error is already printed. The exit status is 2, as for any other error.
var ErrReported = errors.New("there was a failure")

// Tool contains the streams of one run.
type Tool struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Started reports whether the arguments are valid. Until then, errors end with a hint at --help.
	Started   bool
	stdinRead bool
}

// Read returns the content of a file, or of standard input if the name is "-".
func (t *Tool) Read(file string) ([]byte, error) {
	if file == "-" {
		return t.readStdin()
	}
	data, err := config.ReadFile(file)
	if err != nil {
		if info, statErr := os.Stat(file); statErr == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			err = fmt.Errorf("%w: use - and pipe it to standard input", err)
		}
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return data, nil
}

func (t *Tool) readStdin() ([]byte, error) {
	if t.stdinRead {
		return nil, errors.New("standard input (-) is given twice, but can be read only once")
	}
	t.stdinRead = true
	data, err := io.ReadAll(io.LimitReader(t.Stdin, config.MaxSize+1))
	if err == nil && len(data) > config.MaxSize {
		err = fmt.Errorf("it is larger than %d bytes", config.MaxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return data, nil
}

func (t *Tool) Write(data []byte) error {
	if _, err := t.Stdout.Write(data); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// IsTerminal reports whether standard output is a terminal.
func (t *Tool) IsTerminal() bool { return isTerminal(t.Stdout) }

// Width returns the number of columns of the terminal, or 0 if standard output is not a terminal.
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

// WriteConfig is the advice for arguments that belong behind --config.
const WriteConfig = "use --config FILE for the configuration"

// NoArguments rejects arguments. The error ends with advice.
func NoArguments(advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no arguments, but got %s: %s", cmd.CommandPath(), quote.Value(args[0]), advice)
	}
}

// Arguments requires 1 to maxArgs arguments, or any positive number if maxArgs is 0. The description,
// such as "a file", appears in the error.
func Arguments(description string, maxArgs int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s requires %s", cmd.CommandPath(), description)
		case maxArgs > 0 && len(args) > maxArgs:
			return fmt.Errorf("%s requires only %s: unexpected argument %s", cmd.CommandPath(), description, quote.Value(args[maxArgs]))
		}
		return nil
	}
}

// EnvUsage describes the flag --env.
const EnvUsage = "let environment variables such as VSPHERE_USER override the file"

// PrintConfigErrors prints err and returns ErrFindings if err is a config.Errors. It returns any other
// error as it is.
func PrintConfigErrors(to io.Writer, err error) error {
	if configErrors, ok := errors.AsType[config.Errors](err); ok {
		fmt.Fprintln(to, configErrors)
		return ErrFindings
	}
	return err
}

// PrintWarnings prints one warning per line, with its file, line and field. kind names the severity.
func PrintWarnings(to io.Writer, kind string, warnings []config.Warning) {
	for _, w := range warnings {
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

const progressDelay = 2 * time.Second

// Progress prints a line on standard error if that is a terminal and the operation takes longer than
// progressDelay. The caller calls end before it prints anything else.
func (t *Tool) Progress(operation string) (end func() bool) {
	return time.AfterFunc(progressDelay, func() {
		if isTerminal(t.Stderr) {
			fmt.Fprintln(t.Stderr, operation+" …")
		}
	}).Stop
}
