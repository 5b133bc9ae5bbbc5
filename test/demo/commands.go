package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/test/fleet"
	"vzones/test/stack"
)

type console struct {
	out   io.Writer
	stack *stack.Stack
}

type command struct {
	name string
	// args are the names of the required arguments.
	args    string
	summary string
	// expect is the visible effect and its delay.
	expect string
	// run returns a description of the change.
	run func(*console, context.Context, []string) (string, error)
}

var errExit = errors.New("the demo ends")

func commands() []command {
	return []command{
		{name: "status", summary: "show the Nodes and the latest Events of vzones", run: (*console).status},
		{
			name: "vmotion", args: "VM HOST", summary: "move a VM to another host of its vCenter", run: (*console).vmotion,
			expect: "If the host is in another zone: TopologyDrift after topology.settle. The labels stay.",
		},
		{
			name: "retag", args: "VCENTER OBJECT CATEGORY TAG", summary: "replace an object's tag of a category", run: (*console).retag,
			expect: "Tags are read within 30 s. Then the same as vmotion, for all Nodes below the object.",
		},
		{
			name: "clone", args: "VM VCENTER", summary: "create VM-clone in VCENTER and run it with the same UUID", run: (*console).clone,
			expect: "Ambiguous after 30 s. The labels stay. To undo: destroy VM-clone",
		},
		{
			name: "destroy", args: "VM", summary: "delete a VM. Its Node becomes not ready, because its kubelet is gone", run: (*console).destroy,
			expect: "The Node is deleted within 15 s if every vCenter confirms that it does not have the VM.",
		},
		{
			name: "hang", args: "VCENTER", summary: "make a vCenter accept requests without responding", run: (*console).hang,
			expect: "Its Nodes stay unchanged, and no Node of any vCenter is deleted. VCenterUnreachable within 70 s. To undo: recover VCENTER",
		},
		{
			name: "recover", args: "VCENTER", summary: "make it respond again", run: (*console).recoverVCenter,
			expect: "Pending work resumes within 15 s.",
		},
		{
			name: "join", args: "VCENTER", summary: "create a VM, whose kubelet registers its Node", run: (*console).join,
			expect: "The Node has a zone within a second, or once its vCenter responds.",
		},
		{name: "exit", summary: "end the demo, like Ctrl-C", run: func(*console, context.Context, []string) (string, error) { return "", errExit }},
	}
}

func (c *console) print(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// run runs commands until a command ends the demo, the context is done, or ended is closed. It ignores the
// end of the input, because there may be no terminal.
func (c *console) run(ctx context.Context, input io.Reader, ended <-chan struct{}) {
	c.print("Type a command here (help explains them): %s\n", names())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := c.read(ctx, input)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
			} else if c.execute(ctx, line) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-ended:
			return
		}
	}
}

// read sends the input's lines and closes the channel at its end. Its goroutine may outlive the context,
// because a read from a terminal cannot be interrupted.
func (c *console) read(ctx context.Context, input io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		if err := scanner.Err(); err != nil {
			c.print("reading commands: %v", err)
		}
	}()
	return lines
}

// execute runs one line. It returns errExit to end the demo.
func (c *console) execute(ctx context.Context, line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if words[0] == "help" {
		c.help()
		return nil
	}
	list := commands()
	i := slices.IndexFunc(list, func(cmd command) bool { return cmd.name == words[0] })
	if i < 0 {
		c.print("unknown command %q: use %s", words[0], names())
		return nil
	}
	cmd := &list[i]
	args := words[1:]
	if len(args) != len(strings.Fields(cmd.args)) {
		c.print("%s: the usage is %q; help explains all commands", cmd.name, cmd.usage())
		return nil
	}
	result, err := cmd.run(c, ctx, args)
	switch {
	case errors.Is(err, errExit):
		return err
	case err != nil:
		c.print("%s: %v", cmd.name, err)
	case cmd.expect == "":
		c.print("%s", result)
	default:
		c.print("%s\n  %s", result, cmd.expect)
	}
	return nil
}

func names() string {
	list := []string{"help"}
	for _, cmd := range commands() {
		list = append(list, cmd.name)
	}
	return strings.Join(list, ", ")
}

func (cmd *command) usage() string { return strings.TrimSpace(cmd.name + " " + cmd.args) }

func (c *console) help() {
	t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, cmd := range commands() {
		fmt.Fprintf(t, "  %s\t%s\n", cmd.usage(), cmd.summary)
		if cmd.expect != "" {
			fmt.Fprintf(t, "  \t  %s\n", cmd.expect)
		}
	}
	_ = t.Flush()
}

func (c *console) release() error {
	for _, v := range c.stack.Fleet.VCenters() {
		if err := answer(v); err != nil {
			return err
		}
	}
	return nil
}

// answer makes a vCenter respond with the initial delay.
func answer(v *fleet.VCenter) error {
	err := v.Recover()
	v.SetDelay(delay)
	return err
}

// firstDatacenter exists in every vCenter of the demo.
const firstDatacenter = "dc-1"

func (c *console) vmotion(_ context.Context, args []string) (string, error) {
	before, v, err := c.vm(args[0])
	if err != nil {
		return "", err
	}
	if err := v.MoveVM(before.Name, args[1]); err != nil {
		return "", err
	}
	after, err := v.VM(before.Name)
	return fmt.Sprintf("vCenter %s: VM %s moved from %s to %s.", v.Name(), before.Name, place(before), place(after)), err
}

func place(m fleet.VM) string { return "/" + m.Datacenter + "/host/" + m.Cluster + "/" + m.Host }

func (c *console) retag(_ context.Context, args []string) (string, error) {
	v, err := c.vcenter(args[0])
	if err != nil {
		return "", err
	}
	object := args[1]
	category := args[2]
	tag := args[3]
	if categories := []string{regionCategory, zoneCategory}; !slices.Contains(categories, category) {
		return "", fmt.Errorf("category %q not found: use %s", category, strings.Join(categories, ", "))
	}
	err = v.Retag(object, category, tag)
	return fmt.Sprintf("vCenter %s: %s now has the tag %s as its only tag of category %s.", v.Name(), object, tag, category), err
}

func (c *console) hang(_ context.Context, args []string) (string, error) {
	v, err := c.vcenter(args[0])
	if err != nil {
		return "", err
	}
	v.Hang()
	return fmt.Sprintf("vCenter %s no longer responds.", v.Name()), nil
}

func (c *console) recoverVCenter(_ context.Context, args []string) (string, error) {
	v, err := c.vcenter(args[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("vCenter %s responds.", v.Name()), answer(v) //nolint:contextcheck // it lasts longer than the command
}

func (c *console) clone(_ context.Context, args []string) (string, error) {
	m, _, err := c.vm(args[0])
	if err != nil {
		return "", err
	}
	v, err := c.vcenter(args[1])
	if err != nil {
		return "", err
	}
	name := m.Name + "-clone"
	if err := c.checkFree(name); err != nil {
		return "", err
	}
	err = v.Create(firstDatacenter, fleet.VMSpec{Name: name, UUID: m.UUID, HostName: &m.HostName})
	return fmt.Sprintf("vCenter %s now has VM %s with the UUID of %s in vCenter %s. Both are running.", v.Name(), name, m.Name, m.VCenter), err
}

func (c *console) destroy(ctx context.Context, args []string) (string, error) {
	m, v, err := c.vm(args[0])
	if err != nil {
		return "", err
	}
	if err := v.Destroy(m.Name); err != nil {
		return "", err
	}
	gone := fmt.Sprintf("vCenter %s: VM %s was deleted.", v.Name(), m.Name)
	for _, other := range c.stack.Fleet.VMs() {
		if other.UUID == m.UUID {
			return fmt.Sprintf("%s %s has the same UUID and is running, so the Node is ready.", gone, other.Name), nil
		}
	}
	err = c.stack.Cluster.SetNodeReady(ctx, m.Name, v1.ConditionUnknown)
	if apierrors.IsNotFound(err) {
		return gone + " It had no Node.", nil
	}
	return gone + " Node " + m.Name + " is not ready, because its kubelet is gone.", err
}

func (c *console) join(ctx context.Context, args []string) (string, error) {
	v, err := c.vcenter(args[0])
	if err != nil {
		return "", err
	}
	name := ""
	for i := 1; name == "" || c.checkFree(name) != nil; i++ {
		name = fmt.Sprintf("%s-new-%d", v.Name(), i)
	}
	if err := v.Create(firstDatacenter, fleet.VMSpec{Name: name}); err != nil {
		return "", err
	}
	m, err := v.VM(name)
	if err != nil {
		return "", err
	}
	err = c.stack.Register(ctx, m)
	return fmt.Sprintf("vCenter %s now has VM %s in %s, and its kubelet has registered the Node.", v.Name(), name, firstDatacenter), err
}

func (c *console) vcenter(name string) (*fleet.VCenter, error) {
	if v := c.stack.Fleet.VCenter(name); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("vCenter %q not found: use %s", name, strings.Join(c.stack.Fleet.Names(), ", "))
}

func (c *console) vm(name string) (fleet.VM, *fleet.VCenter, error) {
	var known []string
	for _, m := range c.stack.Fleet.VMs() {
		if m.Name == name {
			return m, c.stack.Fleet.VCenter(m.VCenter), nil
		}
		known = append(known, m.Name)
	}
	return fleet.VM{}, nil, fmt.Errorf("VM %q not found: use\n  %s", name, strings.Join(known, "\n  "))
}

// checkFree returns an error if any vCenter has a VM with this name, because commands identify VMs by name only.
func (c *console) checkFree(name string) error {
	if m, _, err := c.vm(name); err == nil {
		return fmt.Errorf("vCenter %s already has a VM %q: destroy %s", m.VCenter, name, name)
	}
	return nil
}
