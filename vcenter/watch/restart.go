package watch

import "vzones/vcenter/watch/model"

// A Reason is why a watch has to begin again although nothing is wrong.
type Reason string

// The reasons of this package. Whoever runs watches has others.
const (
	// DatacentersChanged is for views of other datacenters than configured.
	DatacentersChanged Reason = "a configured datacenter has come, gone or been renamed"
	// GroupsRefused is for a vCenter that does not take the path of host groups.
	GroupsRefused Reason = "the vCenter does not take the property " + model.ClusterGroups + ", so " + model.ClusterConfig + " is read instead"
)

// A Restart is the error of a watch that has to begin again at once. Two with one reason are
// equal, for errors.Is.
type Restart struct{ Reason Reason }

func (r Restart) Error() string { return "something has changed: " + string(r.Reason) }
