package fleet

import (
	"slices"
	"testing"
)

// TestObjects: each path is one that Tag takes.
func TestObjects(t *testing.T) {
	f := start(t, twoVCenters)
	for _, v := range f.VCenters() {
		all := v.Objects()
		for _, m := range v.Machines() {
			if !slices.Contains(all, m.Path) {
				t.Errorf("vCenter %s: the machine %s is not among %q", v.Name(), m.Path, all)
			}
		}
		for _, path := range all {
			if _, err := v.Reference(path); err != nil {
				t.Error(err)
			}
		}
	}
}
