// Package cluster runs a real Kubernetes control plane for tests and the demo: etcd and
// kube-apiserver, and optionally kube-scheduler and kube-controller-manager, as processes on the
// loopback interface.
//
// It owns those processes, their credentials and one temporary folder. It runs no kubelets and no
// containers: Nodes are created with [NodeSpec], and Pods are at most scheduled. Nothing is reachable
// from another host, and nothing survives [Cluster.Stop] or, on Linux, the end of the process that
// started it, even by SIGKILL.
//
// make controlplane builds the programs from the module test/controlplane; this package builds and
// downloads nothing.
package cluster
