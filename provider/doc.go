// Package provider answers Kubernetes' questions about Nodes from the
// snapshots of the vCenters.
//
// It owns the identity of a Node's machine, the provider ID, the addresses and
// the instance type, the cloud provider interface that the framework's
// controllers call, and the Events that tell a person why a Node waits. Calls
// of the framework are answered from memory; the one exception is the direct
// search that confirms a machine's absence before its Node is deleted. The
// package never labels, taints or deletes a Node itself.
package provider
