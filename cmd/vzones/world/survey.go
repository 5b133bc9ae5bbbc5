package world

import (
	"slices"

	"vzones/config"
	"vzones/topology"
)

// SurveyQuery selects what to read. The zero value reads the objects without tags.
type SurveyQuery struct {
	// Categories are the names of tag categories. If empty, no tags are read.
	Categories []string
	// VMs are the IDs of VMs whose settings are read, by vCenter.
	VMs map[string][]string
	// Definitions requests the cardinality and the associable types of the Categories.
	Definitions bool
}

// Survey is the result for one vCenter. It is immutable.
type Survey struct {
	VCenter string
	// Err is set if nothing could be read. The other errors apply to one part.
	Err   error
	About About
	// Objects are the visible folders, datacenters, clusters and hosts, sorted by path.
	Objects    []*Object
	ObjectsErr error
	// Invisible are the queried categories that the account does not see: they do not exist, or it may not
	// read them.
	Invisible []string
	// Categories are the queried categories that the account sees, in the same order.
	Categories    []Category
	CategoriesErr error
	// Visible are the names of all visible categories, if the query requests Definitions.
	Visible []string
	// TagsErr is set if tags could not be read. It is nil if the account lacks permission for some
	// objects only.
	TagsErr error
	// VMs are the settings of the queried VMs by ID.
	VMs    map[string]VMSettings
	VMsErr error
}

// About describes a vCenter.
type About struct {
	// Version and APIVersion have the forms "8.0.3" and "8.0.3.0".
	Version, APIVersion string
	// User is the account of the session, or "" if the vCenter does not report it.
	User string
}

// Object is a folder, a datacenter, a cluster or a host.
type Object struct {
	*topology.Object
	// Parent is nil for the root folder, or if the object above cannot be read.
	Parent *Object
	// Broken is the reason that the object above cannot be read.
	Broken error
}

// Up returns the path from the object to the root folder.
func (o *Object) Up() topology.Path {
	p := topology.Path{Kind: topology.ComputePath}
	for current := o; current != nil; current = current.Parent {
		p.Objects = append(p.Objects, current.Object)
		p.Broken = current.Broken
	}
	return p
}

// Category is a tag category.
type Category struct {
	Name string
	// Multiple reports whether an object may have several tags of the category.
	Multiple bool
	// Types are the managed object types that its tags can be attached to; empty for all types.
	Types []string
}

// VMSettings are settings of a VM. Fields are false if they cannot be read.
type VMSettings struct {
	LacksDiskUUID bool
	// LacksTools reports whether the VM runs and VMware Tools do not. It is false while they start.
	LacksTools bool
}

// Within returns a function that reports whether an object is in a datacenter of the list, which
// contains names, paths or IDs. An empty list matches every object.
func (s *Survey) Within(datacenters []string) func(*Object) bool {
	if len(datacenters) == 0 {
		return func(*Object) bool { return true }
	}
	const datacenterType = "Datacenter"
	var visible []config.Datacenter
	for _, o := range s.Objects {
		if o.Ref.Type == datacenterType {
			visible = append(visible, config.Datacenter{ID: o.Ref.ID, Name: o.Name, Path: o.Path})
		}
	}
	matched, _ := config.MatchDatacenters(datacenters, visible)
	return func(o *Object) bool {
		for ancestor := o; ancestor != nil; ancestor = ancestor.Parent {
			if ancestor.Ref.Type == datacenterType {
				return slices.ContainsFunc(matched, func(d config.Datacenter) bool { return d.ID == ancestor.Ref.ID })
			}
		}
		return false
	}
}
