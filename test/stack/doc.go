// Package stack is the environment of the daemon for tests and the demo: a real control plane, a simulated fleet of
// vCenters, the manifest's roles, Nodes registered by kubelets or like them, and the built daemon as a separate process
// whose only credential is the token of its ServiceAccount.
package stack
