// Command compat runs the demo and chosen tests with the built daemon against the
// control planes of several minors of Kubernetes, and writes what passed into
// docs/reference/compat.json and docs/reference/compatibility.md. make compat runs it.
//
// What is run, and why, is in list.yaml. Which minors there are follows from the
// modules of test/controlplane. A test that does not run has failed: only list.yaml
// can leave one out, with the minor from which on it runs and the reason.
package main
