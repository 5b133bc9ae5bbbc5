// Package scenarios plays scenarios with the built daemon, a real API server and simulated vCenters: events, and the
// expected state of the Nodes. The scenarios are the .txtar files in this folder; docs/how-to/write-a-scenario.md
// describes how to read and write them.
//
// It owns the language of the scripts. It never looks inside the daemon: scripts can only check state that is visible
// in the cluster, in a vCenter or in the log.
//
// The scripts of vzones use testscript, which cannot replace this language. testscript parses a line when it reaches
// it, so an error in the last line would be reported after minutes and only with a control plane; Load reports the
// errors of all files at once. testscript also requires the script to precede the fleet and the configuration, cannot
// repeat lines, and leaves parsing the words of a line, which is most of this language, to us.
package scenarios
