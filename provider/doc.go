// Package provider answers Kubernetes' questions about Nodes from the
// snapshots of the vCenters.
//
// It owns the identity of a Node's machine, the provider ID, the addresses and
// the instance type, the cloud provider interface that the framework's
// controllers call, the Events that tell a person what a Node waits for or what
// is wrong with it, and the annotation that says where its machine was found. Calls
// of the framework are answered from memory. A machine's absence is confirmed by a
// direct search before its Node is deleted, which goes on beside them. The
// package never labels, taints or deletes a Node itself: reconcile below it does
// what is done to the labels of running Nodes.
package provider
