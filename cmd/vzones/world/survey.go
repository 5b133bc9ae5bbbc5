package world

import (
	"slices"

	"vzones/config"
	"vzones/topology"
)

// A SurveyQuery says what is read. Its zero value reads the objects without their tags.
type SurveyQuery struct {
	// Categories are the names of the tag categories that matter. Without any no tags are read.
	Categories []string
	// Machines are the managed object IDs of the machines whose settings are read, by vCenter.
	Machines map[string][]string
	// Definitions reports whether cardinality and types of the Categories are read.
	Definitions bool
}

// A Survey is what was read of one vCenter. It is never changed.
type Survey struct {
	VCenter string
	// Err says why nothing could be read. Errors of a part are with that part.
	Err   error
	About About
	// Objects are the folders of datacenters and hosts, the datacenters, clusters and hosts that
	// the account sees, the root folder included, in the order of their paths. Those above a
	// host are in Parent.
	Objects []*Object
	// ObjectsErr says why objects may be missing.
	ObjectsErr error
	// Invisible are the categories of the SurveyQuery that the vCenter does not show to the account: they do
	// not exist there, or the account may not read them.
	Invisible []string
	// Categories are those of the SurveyQuery that the account can see, in that order; CategoriesErr
	// says why they are not known.
	Categories    []Category
	CategoriesErr error
	// Visible are the names of all tag categories that the account can see, if the SurveyQuery asks for Definitions.
	Visible []string
	// TagsErr says why the tags of objects are not known, nil also if the account may not read some of them.
	TagsErr error
	// Machines are those that the SurveyQuery names, by managed object ID.
	Machines    map[string]MachineSettings
	MachinesErr error
}

// About is what a vCenter says of itself.
type About struct {
	// Version and APIVersion are as it writes them, such as "8.0.3" and "8.0.3.0".
	Version, APIVersion string
	// User is the account of the session, as the vCenter names it, empty if it does not.
	User string
}

// An Object is a folder, a datacenter, a cluster or a host.
type Object struct {
	// Object has its name, its path and its tags, as placements have them. Its type says what it is.
	*topology.Object
	// Parent is nil for the root folder, and where what is above cannot be read.
	Parent *Object
	// Broken says why Parent is nil.
	Broken error
}

// Up returns the way upwards from an object, which is first on it, as placement walks it.
func (o *Object) Up() topology.Path {
	p := topology.Path{Kind: topology.ComputePath}
	for at := o; at != nil; at = at.Parent {
		p.Objects = append(p.Objects, at.Object)
		p.Broken = at.Broken
	}
	return p
}

// A Category is a tag category.
type Category struct {
	Name string
	// Multiple reports whether an object may have several of its tags.
	Multiple bool
	// Types are the managed object types that its tags may be attached to, all if empty.
	Types []string
}

// A MachineSettings is what else is read of a machine. What cannot be read is false.
type MachineSettings struct {
	// LacksDiskUUID reports whether disk.enableUUID is off.
	LacksDiskUUID bool
	// LacksTools reports whether VMware Tools do not run although the machine does. While they start the
	// status is another one.
	LacksTools bool
}

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
