package main

import (
	"fmt"
	"strings"
)

// A program is one binary of the control plane.
type program struct {
	name string
	pkg  string
}

// programs are in the order in which they are needed: with the first two there
// is an API to register Nodes with, the others are for Pods.
var programs = []program{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
}

// choose returns the programs with the given names, all where none is given,
// in the order in which they are needed.
func choose(wanted []string) ([]program, error) {
	if len(wanted) == 0 {
		return programs, nil
	}
	asked := make(map[string]bool)
	for _, name := range wanted {
		asked[name] = true
	}
	var chosen []program
	for _, p := range programs {
		if asked[p.name] {
			chosen = append(chosen, p)
			delete(asked, p.name)
		}
	}
	for _, name := range wanted {
		if asked[name] {
			return nil, fmt.Errorf("%q is no program of the control plane, which are %s", name, strings.Join(names(programs), ", "))
		}
	}
	return chosen, nil
}

func names(list []program) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.name)
	}
	return all
}
