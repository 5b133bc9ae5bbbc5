package inventory

import "slices"

// InvisibleCategories returns the tag categories of the configuration that no vCenter shows.
// A vCenter that is not read may have any.
func InvisibleCategories(states []State) []string {
	all := InvisibleByVCenter(states)
	if len(all) == 0 {
		return nil
	}
	absent := all[states[0].VCenter]
	for _, hidden := range all {
		absent = inBoth(absent, hidden)
	}
	return absent
}

func inBoth(some, others []string) []string {
	return slices.DeleteFunc(slices.Clone(some), func(name string) bool { return !slices.Contains(others, name) })
}

// InvisibleByVCenter returns the tag categories of the configuration that each vCenter, by
// the name of its first entry, does not show to the account. It returns nil if each shows all, or not all of them are read.
func InvisibleByVCenter(states []State) map[string][]string {
	incomplete := false
	for _, s := range states {
		if s.Snapshot == nil || s.Err != nil {
			return nil
		}
		incomplete = incomplete || len(s.Snapshot.InvisibleCategories) > 0
	}
	if !incomplete {
		return nil
	}
	hidden := make(map[string][]string, len(states))
	for _, s := range states {
		first := FirstEntry(states, s.VCenter)
		if before, ok := hidden[first]; ok {
			// Another account of the same vCenter may be shown more.
			hidden[first] = inBoth(before, s.Snapshot.InvisibleCategories)
			continue
		}
		hidden[first] = s.Snapshot.InvisibleCategories
	}
	return hidden
}
