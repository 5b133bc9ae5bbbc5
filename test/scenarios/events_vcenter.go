package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vzones/test/fleet"
)

func vcenterCommands() []command {
	return []command{
		{"vcenter VCENTER METHOD [ARG…]", "calls a method of `fleet.VCenter`, such as `Hang` or `Tag /dc region east`: `go doc -all ./test/fleet VCenter` lists them. " +
			"Arguments that are not strings are in YAML: `Create dc \"{name: node, cluster: c}\"`", func(a *arguments) action {
			names := a.vcenters()
			method := a.word("METHOD")
			args := a.rest()
			call := a.method(method, args)
			return func(_ context.Context, w *world) error {
				for _, name := range names {
					v := w.stack.Fleet.VCenter(name)
					w.trackSessions(v, method, args)
					if err := call(v); err != nil {
						return err
					}
					w.secrets.Add("a password of "+name, v.Password())
				}
				return nil
			}
		}},
		{"forbid VCENTER TEXT", "forbids a text in all further requests to the vCenter, with `${…}` replaced as in a configuration; checked whenever the daemon is stopped", func(a *arguments) action {
			names := a.vcenters()
			text := a.word("TEXT")
			return func(_ context.Context, w *world) error {
				filled, err := w.fill(text)
				for _, name := range names {
					w.stack.Fleet.Forbid(name, text, filled)
				}
				return err
			}
		}},
		{"vm METHOD VM [ARG…]", "calls a method of `fleet.VCenter` for each VM that matches the pattern, with the VM's name as the first argument: `vm MoveVM node-1 c2-host-1`", func(a *arguments) action {
			method := a.word("METHOD")
			pattern := a.word("VM")
			args := a.rest()
			a.method(method, append([]string{pattern}, args...))
			return func(_ context.Context, w *world) error {
				vms, err := w.vmsNamed(pattern)
				if err != nil {
					return err
				}
				for _, m := range vms {
					call, err := fleet.Method(method, append([]string{m.Name}, args...))
					if err != nil {
						return err
					}
					if err := call(w.stack.Fleet.VCenter(m.VCenter)); err != nil {
						return err
					}
				}
				return nil
			}
		}},
	}
}

func (a *arguments) method(name string, args []string) func(*fleet.VCenter) error {
	call, err := fleet.Method(name, args)
	if err != nil {
		a.fail("%v", err)
	}
	return call
}

// withoutLogout lists the methods that may prevent a daemon from logging out of a vCenter.
var withoutLogout = []string{"Hang", "Refuse", "Drop", "HangTagging", "ThrottleTagging", "StartTagging", "SlowLogin"}

// trackSessions records, before a method call, the sessions that a daemon may leave open.
func (w *world) trackSessions(v *fleet.VCenter, method string, args []string) {
	isFault := method == "Fault" || method == "FaultREST"
	failsLogout := isFault && (args[0] == "*" || args[0] == "Logout")
	switch {
	case slices.Contains(withoutLogout, method), failsLogout:
		w.logoutFails[v.Name()] = true
	case method == "Recover", method == "RecoverTagging":
		delete(w.logoutFails, v.Name())
	case method == "EndSessions":
		delete(w.leftSessions, v.Name())
	case method == "SetAddress":
		// A logout does not reach the old address.
		w.leftSessions[v.Name()] = v.Sessions()
	}
}

// vmsNamed returns the VMs whose name matches a pattern, which may start with a pattern for the vCenter and a
// slash.
func (w *world) vmsNamed(pattern string) ([]fleet.VM, error) {
	var found []fleet.VM
	vcenterPattern, name, ok := strings.Cut(pattern, "/")
	if !ok {
		vcenterPattern = "*"
		name = pattern
	}
	for _, m := range w.stack.Fleet.VMs() {
		if matches(vcenterPattern, m.VCenter) && matches(name, m.Name) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the fleet has no VM %q", pattern)
	}
	return found, nil
}

func (w *world) vmNamed(name string) (fleet.VM, error) {
	found, err := w.vmsNamed(name)
	if err == nil && len(found) > 1 {
		err = fmt.Errorf("the fleet has %d VMs named %q", len(found), name)
	}
	if err != nil {
		return fleet.VM{}, err
	}
	return found[0], nil
}
