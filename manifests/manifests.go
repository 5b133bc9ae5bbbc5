// Package manifests holds what is installed into a cluster, for those who
// install it from Go.
package manifests

import _ "embed"

// Plain is the plain manifest: every object that the daemon needs, in the order
// in which they can be applied.
//
//go:embed vsphere-cloud-controller-manager.yaml
var Plain []byte
