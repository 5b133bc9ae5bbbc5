// Package cli is what the tool's commands have in common: the streams, the exit statuses, the
// output formats, colors and progress.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/term"

	"vzones/config"
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
