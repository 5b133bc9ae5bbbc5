package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// The modules that pin a control plane, from the root of the project on.
const (
	controlPlane  = "test/controlplane"
	versions      = controlPlane + "/versions"
	modKubernetes = "k8s.io/kubernetes"
)

// required returns the version of a module that a go.mod requires. A replacement of
// the same module by another one of its versions counts.
func required(root, folder, module string) (string, error) {
	file := filepath.Join(root, folder, "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + `\s+(v\S+)`)
	found := line.FindStringSubmatch(string(data))
	if found == nil {
		return "", fmt.Errorf("%s requires no %s", file, module)
	}
	return found[1], nil
}

// goOf returns the version of Go that a go.mod demands.
func goOf(root, folder string) (string, error) {
	file := filepath.Join(root, folder, "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(data))
	if found == nil {
		return "", fmt.Errorf("%s says nothing of Go", file)
	}
	return found[1], nil
}

var versionOfKubernetes = regexp.MustCompile(`^v(1\.[0-9]+)\.[0-9]+$`)

// A kubernetes is one version of Kubernetes that can be built here.
type kubernetes struct {
	minor   string // 1.36
	version string // v1.36.4
	// pinned is set for the version that all other tests run with. It is built
	// from test/controlplane itself, the others from folders below.
	pinned bool
}

func (k kubernetes) bin() string {
	if k.pinned {
		return "bin/controlplane"
	}
	return "bin/controlplane-" + k.minor
}

// buildable returns all versions of Kubernetes that there are modules for, the
// newest first.
func buildable(root string) ([]kubernetes, error) {
	folders, err := filepath.Glob(filepath.Join(root, versions, "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	all := []kubernetes{{pinned: true}}
	for _, f := range folders {
		all = append(all, kubernetes{minor: filepath.Base(filepath.Dir(f))})
	}
	for i := range all {
		k := &all[i]
		folder := controlPlane
		if !k.pinned {
			folder = versions + "/" + k.minor
		}
		if k.version, err = required(root, folder, modKubernetes); err != nil {
			return nil, err
		}
		found := versionOfKubernetes.FindStringSubmatch(k.version)
		if len(found) == 0 || !k.pinned && found[1] != k.minor {
			return nil, fmt.Errorf("%s builds Kubernetes %s", folder, k.version)
		}
		k.minor = found[1]
	}
	slices.SortFunc(all, func(a, b kubernetes) int { return cmp.Compare(number(b), number(a)) })
	return all, nil
}

func number(k kubernetes) int {
	n, err := minorNumber(k.minor)
	if err != nil {
		return 0
	}
	return n
}

// choose returns those with the given minors, all where none is given.
func choose(all []kubernetes, minors []string) ([]kubernetes, error) {
	if len(minors) == 0 {
		return all, nil
	}
	var chosen []kubernetes
	for _, minor := range minors {
		i := slices.IndexFunc(all, func(k kubernetes) bool { return k.minor == minor })
		if i < 0 {
			var have []string
			for _, k := range all {
				have = append(have, k.minor)
			}
			return nil, fmt.Errorf("K8S=%s: no module builds that minor; there are %q", minor, have)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
