// Package topology decides where a machine is: which region, which zone, which
// further level, and which managed object decided it.
//
// It owns references to managed objects, the paths that lead upwards from a
// machine, the rules that turn tags and names into label values, the conflicts
// between them, and the outcomes that every lookup of a machine can have. It
// performs no I/O, knows neither vSphere's API nor Kubernetes' and never guesses:
// what it cannot decide is an error, or a label that is left undecided.
package topology
