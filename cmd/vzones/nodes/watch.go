package nodes

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"golang.org/x/time/rate"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

// listEvery is how often the Nodes are listed again. The vCenters say themselves what has changed.
const listEvery = 5 * time.Second

// changesEvery is how often changes are looked at, and so the Nodes listed, at most: a large fleet changes
// all the time.
const changesEvery = time.Second

// watch prints the Nodes, and then those that have changed, until the context is done. Then nothing is
// wrong.
func (c *command) watch(ctx context.Context, w *world.World, nodes []Node) error {
	labels := w.Config.Topology.Policy.Labels()
	before := map[string]Node{}
	failing := map[string]string{}
	pace := rate.NewLimiter(rate.Every(changesEvery), 1)
	for first := true; ; first = false {
		var changed []Node
		now := map[string]Node{}
		for _, n := range nodes {
			now[n.Name] = n
			if was, there := before[n.Name]; !there || !reflect.DeepEqual(was, n) {
				changed = append(changed, n)
			}
		}
		for _, n := range before {
			if _, there := now[n.Name]; !there {
				n.Status, n.Problem = deleted, ""
				changed = append(changed, n)
			}
		}
		before = now
		list := listOf(changed, labels)
		list.Continues = !first
		if err := c.print(list, changed); err != nil {
			return err
		}
		c.printVCenters(failing, reportOf(w))
		err := w.Wait(ctx, listEvery)
		if err == nil {
			err = pace.Wait(ctx)
		}
		if err == nil {
			err = w.Refresh(ctx)
		}
		if err == nil {
			nodes, err = c.lookAgain(w)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Ctrl-C is how a watch ends
		}
		if err != nil {
			fmt.Fprintf(c.tool.Stderr, "Warning: %v\n", err) // the API server may be away for a while
		}
	}
}

// lookAgain is look for Nodes that may be gone.
func (c *command) lookAgain(w *world.World) ([]Node, error) {
	again := *c
	again.names = nil
	nodes, err := again.look(w)
	if len(c.names) == 0 || err != nil {
		return nodes, err
	}
	var asked []Node
	for _, name := range c.names {
		for _, n := range nodes {
			if n.Name == name {
				asked = append(asked, n)
			}
		}
	}
	return asked, nil
}

// print prints changes: in JSON one Node a document.
func (c *command) print(list *cli.List, changed []Node) error {
	if c.format != cli.JSON {
		if len(changed) == 0 && list.Continues {
			return nil
		}
		return c.tool.Print(c.format, list)
	}
	for i := range changed {
		if err := c.tool.PrintJSON(&changed[i]); err != nil {
			return err
		}
	}
	return nil
}

// printVCenters says on standard error which vCenters begin and end to fail.
func (c *command) printVCenters(failing map[string]string, now []VCenter) {
	for _, v := range now {
		switch v.Error {
		case failing[v.Name]:
		case "":
			fmt.Fprintf(c.tool.Stderr, "vCenter %q is read again\n", v.Name)
		default:
			fmt.Fprintf(c.tool.Stderr, "Warning: %s\n", v.Error)
		}
		failing[v.Name] = v.Error
	}
}
