// Package moving replaces the vCenter of a running cluster: a second vCenter is added to the configuration of the built
// daemon, the VMs of all Nodes move there one at a time, and the first vCenter is removed from the configuration.
package moving
