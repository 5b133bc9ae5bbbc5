// Package manifests embeds the plain manifest.
package manifests

import _ "embed"

// Plain is the plain manifest: every object that the daemon needs, in the order in which to apply them.
//
//go:embed vsphere-cloud-controller-manager.yaml
var Plain []byte
