package operator

import (
	v1 "k8s.io/api/core/v1"

	"vzones/test/stack"
)

func allInitialized(nodes []*v1.Node) bool {
	for _, n := range nodes {
		if !stack.Initialized(n) {
			return false
		}
	}
	return len(nodes) > 0
}
