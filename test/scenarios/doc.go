// Package scenarios plays stories through the built daemon, a real API server
// and simulated vCenters: this happens, then that, and this is what the Nodes
// are to look like. The stories are the .txtar files beside this one; how to
// read and to write them is in docs/how-to/write-a-scenario.md.
//
// It owns the language of the scripts. It never looks into the daemon: what a
// script can expect is what a cluster, a vCenter or a reader of the log sees.
//
// The tool's scripts use testscript, which cannot replace this language: it parses a line
// when it reaches it, so an error in the last line of a scenario would be reported after
// minutes and only with a control plane, while Load reports every error of every file at once.
// It also requires the script to precede the fleet and the configuration that the script is
// about, cannot repeat lines, and would leave the words of a line, most of the language, to us.
package scenarios
