// Package cluster runs a real Kubernetes control plane for tests and the demo:
// etcd and kube-apiserver, and on demand kube-scheduler and
// kube-controller-manager, as processes on this machine's loopback.
//
// It owns those processes, their credentials and one temporary folder. There
// are no kubelets and so no containers: Nodes are made with [NodeSpec], Pods
// are at most assigned to one. Nothing that it starts is reachable from
// another machine, and nothing survives [Cluster.Stop] or, on Linux, the death
// of the process that started it, SIGKILL included.
//
// The programs are built by the module test/controlplane (make controlplane);
// this package never builds or downloads anything.
package cluster
