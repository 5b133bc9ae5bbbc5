// Package reconcile keeps the topology labels of initialized Nodes true.
//
// It owns what may be written to a running Node, the decision about it, which is a
// pure function, and the controller that writes. It never initializes a Node, never
// touches a label that the configuration does not name and it did not write, and
// writes nothing that rests on what a vCenter said more than two seconds ago.
package reconcile
