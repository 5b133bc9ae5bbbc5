//go:build pinned

// Package crds pins the modules whose CustomResourceDefinitions tests apply. It is never
// built: what is imported is the smallest package of each.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/cluster-api/util/version"
)
