// Package takeover proves that vzones takes a cluster over from the vSphere CPI and gives it back without a change to
// any Node other than vzones' annotations and condition. Both are the real programs with one configuration file, one
// ServiceAccount and one Lease, in front of a real API server and simulated vCenters. The same applies to a release of
// the CPI's chart that Helm upgrades to vzones' chart. The module test/incumbent selects the CPI's version. This
// package never writes to an initialized Node.
package takeover
