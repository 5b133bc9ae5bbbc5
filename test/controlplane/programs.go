package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// A source is a module that programs are built from.
type source struct {
	dir      string // its folder
	out      string // where its programs go
	programs []program
}

const (
	defaultOut     = "../../bin/controlplane"
	versionsFolder = "versions"
)

var minors = regexp.MustCompile(`^1\.[1-9][0-9]*$`)

// sourceOf returns the source of a minor of Kubernetes, this module for "".
func sourceOf(minor string) (source, error) {
	if minor == "" {
		return source{dir: ".", out: defaultOut, programs: programs}, nil
	}
	if !minors.MatchString(minor) {
		return source{}, fmt.Errorf("%q is not a minor of Kubernetes, such as 1.36", minor)
	}
	s := source{dir: filepath.Join(versionsFolder, minor), out: defaultOut + "-" + minor}
	if _, err := os.Stat(filepath.Join(s.dir, "go.mod")); err != nil {
		return source{}, fmt.Errorf("no module to build Kubernetes %s from: %w", minor, err)
	}
	for _, p := range programs {
		if strings.HasPrefix(p.pkg, "k8s.io/kubernetes/") {
			s.programs = append(s.programs, p)
		}
	}
	return s, nil
}

// choose returns those of the programs with the given names, all where none is
// given, in the order in which they are needed.
func choose(programs []program, wanted []string) ([]program, error) {
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
