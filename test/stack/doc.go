// Package stack is everything a test or the demo needs around the daemon: a
// real control plane, a simulated fleet of vCenters, the roles of the manifest
// in force, Nodes that register as kubelets do, and the built daemon as a
// process of its own that has nothing but the token of its ServiceAccount.
package stack
