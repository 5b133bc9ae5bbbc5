// Package scenarios plays stories through the built daemon, a real API server
// and simulated vCenters: this happens, then that, and this is what the Nodes
// are to look like. The stories are the .txtar files beside this one; how to
// read and to write them is in docs/how-to/write-a-scenario.md.
//
// It owns the language of the scripts. It never looks into the daemon: what a
// script can expect is what a cluster, a vCenter or a reader of the log sees.
package scenarios
