// Package addresses chooses the addresses of a Node from those of its machine.
//
// It owns the rules and their order: what never counts, what comes first, what
// the configuration asks for, what the kubelet was given, what the Node has
// already, and what other Nodes claim. It also says, for each address, which rule
// chose or dropped it: the choice is made by writing these results, so the two
// cannot differ. Everything in it is a pure function of its arguments. The order
// in which VMware Tools report decides only about what the Node does not have yet.
// It performs no I/O, keeps nothing, and changes neither Nodes nor what it is given.
package addresses
