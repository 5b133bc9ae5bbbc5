// Package provider answers Kubernetes' questions about Nodes from the
// snapshots of the vCenters.
//
// It owns the identity of a Node's machine, the provider ID, the addresses and
// the instance type, the cloud provider interface that the framework's
// controllers call, the Events that tell a person what a Node waits for or what
// is wrong with it, and the annotation that says where its machine was found. Calls
// of the framework are answered from memory; the one exception is the direct
// search that confirms a machine's absence before its Node is deleted. The
// package never labels, taints or deletes a Node itself: reconcile below it does
// what is done to the labels of running Nodes.
package provider
