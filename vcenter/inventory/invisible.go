package inventory

import "slices"

// InvisibleCategories returns the configured tag categories that no vCenter shows, none if a vCenter is unreadable.
func InvisibleCategories(states []State) []string {
	byVCenter := InvisibleByVCenter(states)
	if len(byVCenter) == 0 {
		return nil
	}
	absent := byVCenter[states[0].VCenter]
	for _, hidden := range byVCenter {
		absent = intersection(absent, hidden)
	}
	return absent
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// InvisibleByVCenter returns the configured tag categories hidden from the account, by the name of the vCenter's
// first entry, nil if a vCenter is unreadable.
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
		if previous, ok := hidden[first]; ok {
			// Another account of the same vCenter may see more.
			hidden[first] = intersection(previous, s.Snapshot.InvisibleCategories)
			continue
		}
		hidden[first] = s.Snapshot.InvisibleCategories
	}
	return hidden
}
