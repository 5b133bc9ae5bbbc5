// Package provider answers the questions of Kubernetes' cloud provider framework about
// Nodes from the snapshots of the vCenters.
//
// It owns the cloud provider interface that the framework's controllers call. Calls are
// answered from memory: no answer waits for a vCenter, and none writes anything. What the
// answers are made of is in the packages below it. Package write completes what the framework
// writes to Nodes, and package nodes writes the rest.
package provider
