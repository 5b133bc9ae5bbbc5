// Package provider answers the questions of Kubernetes' cloud provider framework about
// Nodes from the snapshots of the vCenters.
//
// It owns the cloud provider interface that the framework's controllers call. Calls are
// answered from memory: no answer waits for a vCenter, and none writes anything. What the
// answers are made of is in the packages below it, and what is written to Nodes is
// package nodes' to write.
package provider
