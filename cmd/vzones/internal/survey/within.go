package survey

import (
	"slices"

	"vzones/config"
)

// Within returns a function that reports whether an object is in one of these datacenters, as the
// configuration names them. Without any, each object is.
func (s *Survey) Within(datacenters []string) func(*Object) bool {
	if len(datacenters) == 0 {
		return func(*Object) bool { return true }
	}
	const is = "Datacenter"
	var all []config.Datacenter
	for _, o := range s.Objects {
		if o.Ref.Type == is {
			all = append(all, config.Datacenter{ID: o.Ref.ID, Name: o.Name, Path: o.Path})
		}
	}
	matched, _ := config.MatchDatacenters(datacenters, all)
	return func(o *Object) bool {
		for at := o; at != nil; at = at.Parent {
			if at.Ref.Type == is {
				return slices.ContainsFunc(matched, func(d config.Datacenter) bool { return d.ID == at.Ref.ID })
			}
		}
		return false
	}
}
