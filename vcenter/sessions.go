package vcenter

import (
	"vzones/topology"
	"vzones/vcenter/session"
)

// An OpenSession is the session that a fleet has with a vCenter. Err says why there is none.
type OpenSession struct {
	VCenter string
	Session *session.Session
	Err     error
}

// Sessions returns those with all vCenters now, in the order of the configuration. They stay the fleet's,
// which ends them.
func (f *Fleet) Sessions() []OpenSession {
	var all []OpenSession
	for _, v := range *f.vcenters.Load() {
		o := OpenSession{VCenter: v.name, Session: v.session()}
		if o.Session == nil {
			if o.Err = v.status.Load().state.Err; o.Err == nil {
				o.Err = topology.Errorf(topology.ErrUnknown, "vCenter %q is not logged in to", v.name)
			}
		}
		all = append(all, o)
	}
	return all
}
