// Package takeover proves that vzones takes a cluster over from the vSphere CPI, the
// provider before it, and gives it back: no Node changes by either, but for the
// annotations and the condition of vzones. Both are the real programs, with one configuration file, one
// ServiceAccount and one Lease, in front of a real API server and simulated vCenters.
// So it is for a release of the CPI's own chart, which Helm upgrades to the chart of vzones.
// Module vzones/test/incumbent says which version of the CPI that is. This package never
// writes to a Node that was initialized.
package takeover
