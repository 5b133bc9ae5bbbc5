package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// A world is what commands change: the vCenters, and the Nodes of the control plane.
type world struct {
	out   io.Writer
	stack *stack.Stack
	// daemon says that the daemon is that of the demo, and not of the reader.
	daemon bool
}

// An outcome is what a command has done, in one line, and which command line shows what follows;
// that is empty if nothing does.
type outcome struct{ did, look string }

func (w *world) print(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// release lets all vCenters answer, so that the daemon can log out of them.
func (w *world) release() error {
	for _, v := range w.stack.Fleet.VCenters() {
		if err := answer(v); err != nil {
			return err
		}
	}
	return nil
}

// answer lets a vCenter answer, as slowly as at the start.
func answer(v *fleet.VCenter) error {
	err := v.Recover()
	v.SetDelay(delay)
	return err
}

// vcenter returns the vCenter of a name. If there is none, the error lists those that there are.
func (w *world) vcenter(name string) (*fleet.VCenter, error) {
	if v := w.stack.Fleet.VCenter(name); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no vCenter %q; there are %s", name, strings.Join(w.stack.Fleet.Names(), ", "))
}

// machine returns the machine of a name and its vCenter. If there is none, the error lists those
// that there are.
func (w *world) machine(name string) (fleet.Machine, *fleet.VCenter, error) {
	var names []string
	for _, m := range w.stack.Fleet.Machines() {
		if m.Name == name {
			return m, w.stack.Fleet.VCenter(m.VCenter), nil
		}
		names = append(names, m.Name)
	}
	return fleet.Machine{}, nil, fmt.Errorf("there is no machine %q; there are\n  %s", name, strings.Join(names, "\n  "))
}

// checkFree returns an error if some vCenter has a machine of a name: commands name machines by it.
func (w *world) checkFree(name string) error {
	if m, _, err := w.machine(name); err == nil {
		return fmt.Errorf("vCenter %s has a machine %q already: destroy %s", m.VCenter, name, name)
	}
	return nil
}

// sharing returns the machines with a UUID.
func (w *world) sharing(uuid string) []fleet.Machine {
	return slices.DeleteFunc(w.stack.Fleet.Machines(), func(m fleet.Machine) bool { return m.UUID != uuid })
}

// hostPath matches the inventory path of a host, which is always in a cluster here.
var hostPath = regexp.MustCompile(`^/[^/]+/host/[^/]+/[^/]+$`)

// host returns an error if there is no host of a name or path, which lists those that there are.
func host(v *fleet.VCenter, name string) error {
	hosts := slices.DeleteFunc(v.Objects(), func(path string) bool { return !hostPath.MatchString(path) })
	for _, path := range hosts {
		if path == name || strings.HasSuffix(path, "/"+name) {
			return nil
		}
	}
	return fmt.Errorf("vCenter %s has no host %q; its hosts are\n  %s", v.Name(), name, strings.Join(hosts, "\n  "))
}
