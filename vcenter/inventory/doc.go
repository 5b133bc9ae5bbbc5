// Package inventory holds what was read of the fleet's vCenters and finds
// machines in it.
//
// It owns the snapshot of a vCenter, the detail of a machine, the forms of a
// UUID, and the lookup that keeps found, absent, unknown and ambiguous apart.
// Everything in it is plain data: it performs no I/O, and what it returns
// never changes, so that readers need no lock.
package inventory
