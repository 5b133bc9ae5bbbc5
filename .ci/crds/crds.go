//go:build pinned

// Package crds pins the modules with the CustomResourceDefinitions that tests apply. It is never built; it imports
// the smallest package of each module.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/cluster-api/util/version"
)
