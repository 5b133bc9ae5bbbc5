package finding

import (
	"cmp"
	"slices"
)

// Kinds returns all kinds, by ID.
func Kinds() []*Kind { return byID(CheckKinds(), AuditKinds()) }

// CheckKinds returns those of vzones check, by ID.
func CheckKinds() []*Kind { return byID(checkReach, checkRights, checkTopology, checkNodes) }

func byID(lists ...[]*Kind) []*Kind {
	return slices.SortedFunc(slices.Values(slices.Concat(lists...)), func(a, b *Kind) int { return cmp.Compare(a.ID, b.ID) })
}
