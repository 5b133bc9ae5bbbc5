package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
)

// A command is one that can be typed while the demo runs.
type command struct {
	name string
	// args are its arguments, all of which have to be given.
	args string
	does string
	// expect is what there is to see then, and after which time.
	expect string
	run    func(ctx context.Context, on *world, args []string) (outcome, error)
	// daemon says that it needs the daemon and the Secret of this demo, not those of the reader.
	daemon bool
}

// errExit is what the command returns that ends the demo.
var errExit = errors.New("the demo ends")

// table has all commands, in the order in which help explains them.
func table() []command {
	return []command{
		{name: "status", does: "shows the Nodes, where their machines are, and the last Events of vzones", run: status},
		{
			name: "vmotion", args: "MACHINE HOST", does: "moves a machine to another host of its vCenter", run: vmotion,
			expect: "If that is another zone, TopologyDrift after topology.settle. The labels stay.",
		},
		{
			name: "retag", args: "VCENTER OBJECT CATEGORY TAG", does: "gives an object another tag of a category", run: retag,
			expect: "Tags are read within 30 s. Then as with vmotion, for all Nodes below the object.",
		},
		{
			name: "clone", args: "MACHINE VCENTER", does: "makes MACHINE-clone there, which runs with the same UUID", run: clone,
			expect: "Ambiguous after 30 s. The labels stay. The way back: destroy MACHINE-clone",
		},
		{
			name: "destroy", args: "MACHINE", does: "deletes a machine. Its Node is not ready from then on, since its kubelet is gone", run: destroy,
			expect: "The Node is deleted within 15 s if every vCenter confirms that it does not have the machine.",
		},
		{
			name: "hang", args: "VCENTER", does: "lets a vCenter take requests and answer none", run: hang,
			expect: "Its Nodes keep what they have, and no Node at all is deleted. VCenterUnreachable within 70 s. The way back: recover VCENTER",
		},
		{
			name: "recover", args: "VCENTER", does: "lets it answer again", run: recoverVCenter,
			expect: "What has waited for it goes on within 15 s.",
		},
		{
			name: "join", args: "VCENTER", does: "makes a machine, whose kubelet registers its Node", run: join,
			expect: "The Node has a zone within a second. If its vCenter does not answer, it waits.",
		},
		{
			name: "password", args: "VCENTER", does: "changes the account's password there, but not in the Secret, and ends its sessions", run: password, daemon: true,
			expect: "The Nodes keep what they have. CredentialsRejected on the daemon's Pod after 30 s. The way back: secret",
		},
		{
			name: "secret", does: "writes the passwords of all vCenters into the Secret, as they are now", run: secret, daemon: true,
			expect: "The vCenter is read within seconds. VCenterRecovered on the Pod, if it had an Event.",
		},
		{name: "exit", does: "ends the demo, as Ctrl-C does", run: exit},
	}
}

// commands are those that can be typed: without a daemon of the demo's own, not all.
func (w *world) commands() []command {
	var all []command
	for _, c := range table() {
		if w.daemon || !c.daemon {
			all = append(all, c)
		}
	}
	return all
}

// obey carries out one line. The error is errExit if that ends the demo.
func (w *world) obey(ctx context.Context, line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if words[0] == "help" {
		w.print("%s", w.help())
		return nil
	}
	for _, c := range w.commands() {
		if c.name != words[0] {
			continue
		}
		if len(words)-1 != len(strings.Fields(c.args)) {
			w.print("%s: it is %q; help explains all commands", c.name, c.usage())
			return nil
		}
		done, err := c.run(ctx, w, words[1:])
		switch {
		case errors.Is(err, errExit):
			return err
		case err != nil:
			w.print("%s: %v", c.name, err)
		default:
			w.print("%s", c.report(done))
		}
		return nil
	}
	w.print("there is no command %q; there are %s", words[0], w.names())
	return nil
}

// names lists what can be typed.
func (w *world) names() string {
	names := []string{"help"}
	for _, c := range w.commands() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func (c *command) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

// report returns what was done, and what to expect and what shows that, if anything follows.
func (c *command) report(done outcome) string {
	if done.look == "" {
		return done.did
	}
	return fmt.Sprintf("%s\n  %s\n  Look: status, or %s", done.did, c.expect, done.look)
}

// help explains the commands.
func (w *world) help() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range w.commands() {
		fmt.Fprintf(t, "  %s\t%s\n", c.usage(), c.does)
		if c.expect != "" {
			fmt.Fprintf(t, "  \t  %s\n", c.expect)
		}
	}
	_ = t.Flush() // a builder takes everything
	return strings.TrimSuffix(b.String(), "\n")
}

func exit(context.Context, *world, []string) (outcome, error) { return outcome{}, errExit }
