package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter"
)

type finder = func(context.Context, *config.VCenter) (vcenter.Credentials, error)

// options are the flags.
type options struct {
	world  *world.Flags
	format cli.Format

	name, principal string
	group           bool

	create, update, yes bool
	user, passwordFile  string

	// password is that of user.
	password config.Password
}

func (o *options) check() error {
	switch {
	case o.name == "":
		return errors.New("--name is empty: write the name of the role")
	case !o.create && (o.update || o.yes || o.user != "" || o.passwordFile != ""):
		return errors.New("--update, --yes, --user and --password-file are for --create: write that too")
	case o.create && o.format != cli.Table:
		return errors.New("--create prints what it does: leave -o out")
	case o.passwordFile != "" && o.user == "":
		return errors.New("--password-file is for --user: write that too")
	case o.passwordFile == "-" && !o.yes:
		return errors.New("standard input has the password, so it cannot have the answer: write --yes too")
	}
	return nil
}

// readPassword reads that of --user, from a file or without showing it from the terminal.
func (o *options) readPassword(ctx context.Context, t *cli.Tool) error {
	if o.user == "" {
		return nil
	}
	if o.passwordFile != "" {
		data, err := t.Read(o.passwordFile)
		if err != nil {
			return err
		}
		o.password = config.NewPassword(strings.TrimRight(string(data), "\r\n"))
		return nil
	}
	in, ok := t.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return errors.New("there is no terminal to ask for the password on: write --password-file")
	}
	fmt.Fprintf(t.Stderr, "Password of %s: ", quote.Name(o.user))
	password, err := typed(ctx, int(in.Fd()))
	fmt.Fprintln(t.Stderr)
	if err != nil {
		return fmt.Errorf("reading the password: %w", err)
	}
	o.password = config.NewPassword(password)
	return nil
}

// typed returns the line that is typed on a terminal, without showing it. At the end of the context
// the terminal is as it was.
func typed(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1) // sent to once by the goroutine, which ends with the process if nobody answers
	go func() {
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return string(a.line), a.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return "", context.Cause(ctx)
	}
}

// credentials returns those that log in to a vCenter.
func (o *options) credentials(ctx context.Context, v *config.VCenter, find finder) (vcenter.Credentials, error) {
	if o.user != "" {
		return vcenter.Credentials{User: o.user, Password: o.password}, nil
	}
	return find(ctx, v)
}
