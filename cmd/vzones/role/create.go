package role

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter"
	"vzones/vcenter/privileges"
	"vzones/vcenter/roles"
	"vzones/vcenter/session"
)

// A change is what is to be done in one vCenter.
type change struct {
	vcenter    string
	connection *roles.Connection
	// role is what is there, nil if nothing is.
	role *roles.Role
	// wanted are the privileges that the role is to have.
	wanted []string
}

func (c *change) differs() bool {
	if c.role == nil {
		return true
	}
	further, missing := c.role.Differs(c.wanted)
	return len(further)+len(missing) > 0
}

// create makes the role in each vCenter that does not have it. Nothing is written before all have
// been looked at.
func create(ctx context.Context, t *cli.Tool, o *options, cfg *config.Config, find finder) (err error) {
	reading, cancel := context.WithTimeout(ctx, o.world.Timeout)
	defer cancel()
	end := t.Progress("Reading the roles of the vCenters")
	changes, err := look(reading, o, cfg, find)
	end()
	defer func() {
		for _, c := range changes {
			if closed := c.connection.Close(ctx); closed != nil && err == nil {
				err = fmt.Errorf("vCenter %q: logging out: %w", c.vcenter, closed)
			}
		}
	}()
	if err == nil {
		err = refused(changes, o)
	}
	if err != nil {
		return err
	}
	todo := slices.DeleteFunc(slices.Clone(changes), func(c *change) bool { return !c.differs() })
	if len(todo) > 0 && !o.yes {
		if err := ask(ctx, t, o, todo); err != nil {
			return err
		}
	}
	for _, c := range changes {
		done := "is there already"
		switch {
		case c.role == nil:
			done, err = "was made", c.connection.Create(ctx, roles.Role{Name: o.name, Privileges: c.wanted})
		case c.differs():
			done, err = "was changed", c.connection.Update(ctx, c.role, c.wanted)
		}
		if err != nil {
			return err
		}
		if err := t.Write(fmt.Appendf(nil, "vCenter %q: role %s %s\n", c.vcenter, quote.Name(o.name), done)); err != nil {
			return err
		}
	}
	return nil
}

// look logs in to each vCenter, once where several entries lead to it, and reads the role. Credentials
// that one vCenter rejects are shown to no other one.
func look(ctx context.Context, o *options, cfg *config.Config, find finder) (changes []*change, err error) {
	var errs []error
	var rejected []vcenter.Credentials
	seen := map[string]bool{}
	for i := range cfg.VCenters {
		v := &cfg.VCenters[i]
		if seen[v.Address()] {
			continue
		}
		seen[v.Address()] = true
		creds, err := o.credentials(ctx, v, find)
		if err != nil {
			errs = append(errs, fmt.Errorf("vCenter %q: %w", v.Name, err))
			continue
		}
		if slices.ContainsFunc(rejected, creds.Equal) {
			errs = append(errs, fmt.Errorf("vCenter %q: not logged in to: another vCenter has rejected the same credentials, and a directory locks an account that fails often", v.Name))
			continue
		}
		connection, err := roles.Open(ctx, v, creds)
		if errors.Is(err, session.ErrRejected) {
			rejected = append(rejected, creds)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c := &change{vcenter: v.Name, connection: connection, wanted: privileges.System()}
		changes = append(changes, c)
		if c.role, err = connection.Find(ctx, o.name); err != nil {
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return changes, fmt.Errorf("reading the roles of the vCenters: %w: nothing was changed", context.Cause(ctx))
	}
	if err := quote.Errors(quote.Most, errs...); err != nil {
		return changes, fmt.Errorf("%w: nothing was changed", err)
	}
	return changes, nil
}

// refused returns an error if a role is there that is another one.
func refused(changes []*change, o *options) error {
	if o.update {
		return nil
	}
	var errs []error
	for _, c := range changes {
		if c.role == nil || !c.differs() {
			continue
		}
		further, missing := c.role.Differs(c.wanted)
		var how []string
		if len(further) > 0 {
			how = append(how, "it has further privileges ("+quote.Some(plain(further), quote.Most)+")")
		}
		if len(missing) > 0 {
			how = append(how, "it does not have "+quote.Some(plain(missing), quote.Most))
		}
		errs = append(errs, fmt.Errorf("vCenter %q: role %s is another one: %s", c.vcenter, quote.Value(o.name), strings.Join(how, ", and ")))
	}
	if err := quote.Errors(quote.Most, errs...); err != nil {
		return fmt.Errorf("%w: nothing was changed; write another --name, or --update to change it", err)
	}
	return nil
}

func plain(all []string) []string {
	shown := make([]string, len(all))
	for i, p := range all {
		shown[i] = quote.Plain(p)
	}
	return shown
}

var errDeclined = errors.New("not confirmed: nothing was changed")

// ask asks once for all vCenters.
func ask(ctx context.Context, t *cli.Tool, o *options, todo []*change) error {
	names := make([]string, len(todo))
	for i, c := range todo {
		names[i] = quote.Value(c.vcenter)
		if c.role != nil {
			names[i] += " (change it)"
		}
	}
	fmt.Fprintf(t.Stderr, "Make the role %s in vCenter %s? [y/N] ", quote.Name(o.name), strings.Join(names, ", "))
	answers := make(chan string, 1) // sent to once by the goroutine, which ends with the process if nobody answers
	go func() {
		line, err := bufio.NewReader(t.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answers <- line
	}()
	select {
	case line := <-answers:
		if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
			return nil
		}
		fmt.Fprintln(t.Stderr)
		return errDeclined
	case <-ctx.Done():
		fmt.Fprintln(t.Stderr)
		return fmt.Errorf("waiting for the answer: %w: nothing was changed", context.Cause(ctx))
	}
}
