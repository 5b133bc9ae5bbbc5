// Package manifests embeds the plain manifests.
package manifests

import _ "embed"

// Plain is the plain manifest: every object that the daemon needs, in the order in which to apply them.
//
//go:embed vsphere-cloud-controller-manager.yaml
var Plain []byte

// Shadow is the manifest of vzones plan --watch in a Pod.
//
//go:embed vzones-shadow.yaml
var Shadow []byte
