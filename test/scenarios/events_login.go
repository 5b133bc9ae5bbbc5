package scenarios

import "vzones/test/fleet"

// loginCommands make something happen to the logins of a vCenter, and to nothing else.
func loginCommands() []command {
	return []command{
		{"vcenter VCENTER reject-rest-login", "refuses every login to its tagging API, of right passwords too, while the SOAP API accepts them; sessions stay; `recover` undoes it", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(_ *world, v *fleet.VCenter) error { v.RejectRESTLogin(); return nil })
		}},
		{"vcenter VCENTER slow-login DURATION", "lets its logins take that long, and nothing else; a login whose client has gone opens its session all the same; `recover` undoes it", func(a *arguments) action {
			names, d := a.vcenters(), a.duration()
			return onVCenters(names, func(w *world, v *fleet.VCenter) error {
				w.sick[v.Name()] = true // the session of a login that was given up
				v.SlowLogin(d)
				return nil
			})
		}},
		{"vcenter VCENTER lockout", "has it count failed logins as vCenters do by default: 5 within 180 s lock the account for 900 s, and right passwords are refused then; `recover` undoes it", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(_ *world, v *fleet.VCenter) error { v.SetLockout(fleet.DefaultLockout); return nil })
		}},
		{"vcenter VCENTER failed-logins N", "lets another client log in with a wrong password N times", func(a *arguments) action {
			names, n := a.vcenters(), a.number("N")
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error {
				for range n {
					v.FailLogin()
				}
				return nil
			})
		}},
	}
}
