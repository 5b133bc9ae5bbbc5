package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/test/fleet"
)

// vcenterCommands make something happen to a vCenter.
func vcenterCommands() []command {
	return []command{
		{"vcenter VCENTER hang", "lets it accept connections and answer nothing", vcenterFault((*fleet.VCenter).Hang)},
		{"vcenter VCENTER refuse", "breaks its connections and refuses new ones; sessions stay", vcenterFault((*fleet.VCenter).Refuse)},
		{"vcenter VCENTER drop", "lets it break each connection in the middle of an answer", vcenterFault((*fleet.VCenter).Drop)},
		{"vcenter VCENTER delay DURATION", "lets every answer take that much longer", func(a *arguments) action {
			names, d := a.vcenters(), a.duration()
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.SetDelay(d); return nil })
		}},
		{"vcenter VCENTER fault METHOD FAULT", "lets a SOAP method, or all (`*`), answer with a vSphere fault such as `NoPermission`", faultCommand},
		{"vcenter VCENTER fault-rest KIND STATUS", "lets requests of a kind, as `requests` counts them, answer with an HTTP status; a KIND may end in `*`", faultRESTCommand},
		{"vcenter VCENTER reject-password", "refuses every login; sessions stay", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(_ *world, v *fleet.VCenter) error { v.RejectPassword(); return nil })
		}},
		{"vcenter VCENTER password PASSWORD", "changes the account's password; sessions stay", func(a *arguments) action {
			names, password := a.vcenters(), a.word("PASSWORD")
			return onVCenters(names, func(w *world, v *fleet.VCenter) error {
				v.SetPassword(password)
				w.secrets.Add("a password of "+v.Name(), password)
				return nil
			})
		}},
		{"vcenter VCENTER end-sessions", "ends all its sessions, as a restart does", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(w *world, v *fleet.VCenter) error {
				v.EndSessions()
				delete(w.orphans, v.Name())
				return nil
			})
		}},
		{"vcenter VCENTER new-certificate", "gives it another key and certificate, which its `caFile` does not fit, and breaks its connections; sessions stay", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(_ *world, v *fleet.VCenter) error { return v.RenewCertificate() })
		}},
		{"vcenter VCENTER certificate-ends DURATION", "is `new-certificate` with one that ends after that time", func(a *arguments) action {
			names, d := a.vcenters(), a.duration()
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { return v.EndCertificate(d) })
		}},
		{"vcenter VCENTER address ADDRESS", "moves it to another loopback address such as 127.0.0.77, with another port and a certificate that its `caFile` fits; sessions stay and are not held against the daemon", func(a *arguments) action {
			name, address := a.vcenter(), a.word("ADDRESS")
			return onVCenters([]string{name}, func(w *world, v *fleet.VCenter) error {
				w.orphans[name] = v.Sessions() // at the old address nobody can log out
				return v.SetAddress(address)
			})
		}},
		{"vcenter VCENTER recover", "undoes what is above from `hang` to `reject-password`, and what is below from `delay-method` to `refuse-listing`", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(w *world, v *fleet.VCenter) error {
				delete(w.sick, v.Name())
				return v.Recover()
			})
		}},
		{"vcenter VCENTER hide OBJECT", "takes the account's rights on an object and all below it; OBJECT, as in `tag`, is a datacenter, a folder, a cluster or a machine", onObject(1, func(v *fleet.VCenter, w []string) error { return v.Hide(w[0]) })},
		{"vcenter VCENTER show OBJECT", "gives back what `hide` has taken with the same words", onObject(1, func(v *fleet.VCenter, w []string) error { return v.Show(w[0]) })},
	}
}

// onVCenters does something with each of the named vCenters.
func onVCenters(names []string, do func(*world, *fleet.VCenter) error) action {
	return func(_ context.Context, w *world) error {
		for _, name := range names {
			if err := do(w, w.stack.Fleet.VCenter(name)); err != nil {
				return err
			}
		}
		return nil
	}
}

// vcenterFault is a command without arguments after which the daemon cannot log out of
// the vCenter.
func vcenterFault(do func(*fleet.VCenter)) func(*arguments) action {
	return func(a *arguments) action {
		return onVCenters(a.vcenters(), func(w *world, v *fleet.VCenter) error {
			w.sick[v.Name()] = true
			do(v)
			return nil
		})
	}
}

func faultCommand(a *arguments) action {
	names, method, name := a.vcenters(), a.word("METHOD"), a.word("FAULT")
	made := faultNamed(name)
	if made == nil {
		a.fail("vSphere has no fault %q", name)
	}
	return onVCenters(names, func(w *world, v *fleet.VCenter) error {
		if slices.Contains([]string{"*", "Logout"}, method) {
			w.sick[v.Name()] = true
		}
		v.Fault(method, made)
		return nil
	})
}

func faultRESTCommand(a *arguments) action {
	names, kind, status := a.vcenters(), a.word("KIND"), a.number("STATUS")
	if status < 400 || status > 599 {
		a.fail("%s is no status of an error", strconv.Itoa(status))
	}
	return onVCenters(names, func(w *world, v *fleet.VCenter) error {
		if kind == "*" {
			w.sick[v.Name()] = true
		}
		v.FaultREST(kind, status)
		return nil
	})
}

// machinesNamed finds the machines whose name a pattern fits: in all vCenters,
// or in those before its slash.
func (w *world) machinesNamed(pattern string) ([]fleet.Machine, error) {
	var found []fleet.Machine
	within, name, ok := strings.Cut(pattern, "/")
	if !ok {
		within, name = "*", pattern
	}
	for _, m := range w.stack.Fleet.Machines() {
		if matches(within, m.VCenter) && matches(name, m.Name) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the fleet has no machine %q", pattern)
	}
	return found, nil
}
