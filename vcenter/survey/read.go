package survey

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/privileges"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

// A Source is what one vCenter is read through.
type Source struct {
	VCenter string
	Session *session.Session
	// Tagging is a session of the tagging API that no other goroutine uses, and Tags reads it.
	Tagging tags.Session
	Tags    *tags.Reader
	// Uses are what the configuration uses.
	Uses privileges.Uses
}

// Read reads what a query asks for. What cannot be read is an error of its part.
func Read(ctx context.Context, from Source, q Query) Survey {
	r := reader{source: from, q: &q, tree: model.NewTree(from.Session.Client().ServiceContent.RootFolder)}
	s := Survey{VCenter: from.VCenter, About: r.about(ctx)}
	s.Skew, s.SkewErr = r.skew(ctx)
	inventory, err := readInventory(ctx, from.Session, r.tree, wanted{
		Rules: q.Rules, Beside: r.beside(), Facts: model.HostFacts{Groups: from.Uses.HostGroups, Domains: from.Uses.FaultDomains},
	})
	s.ObjectsErr = r.failed("listing clusters and hosts", err)
	var attached tags.Attachments
	compute := r.inventoryRefs()
	if len(q.Categories) > 0 {
		attached = from.Tags.Read(ctx, from.Tagging, r.tagQuery(compute))
		attached.Err = r.failed("reading tags", attached.Err)
		s.Invisible = attached.Absent
	}
	s.Objects = r.objects(inventory, attached)
	if q.Rules {
		s.Clusters = inventory.clusters
	}
	if q.Definitions {
		s.Categories, err = r.definitions(ctx)
		s.CategoriesErr = r.failed("reading tag categories", err)
	}
	s.Machines, err = readMachines(ctx, from.Session, r.tree, from.VCenter, q.Machines[from.VCenter], q.Folder)
	s.MachinesErr = r.failed("reading machines", err)
	if q.Privileges {
		s.Denied, err = readDenied(ctx, from.Session, s.About.User, r.tree.Objects(from.VCenter, tags.Attachments{}, model.HostFacts{}, entityTypes...), from.needs(compute))
		s.DeniedErr = r.failed("asking which privileges the account has", err)
	}
	return s
}

// needs returns what the configuration needs on an object. Objects that are not of the compute
// path have tags that matter only where the others are walked.
func (s *Source) needs(compute []types.ManagedObjectReference) func(types.ManagedObjectReference) []privileges.Need {
	all := privileges.For(s.Uses)
	hosts := make(map[types.ManagedObjectReference]bool, len(compute))
	for _, ref := range compute {
		hosts[ref] = true
	}
	machinesOnly := s.Uses
	machinesOnly.Tags = s.Uses.Tags && (len(s.Uses.Paths) == 0 || slices.Contains(s.Uses.Paths, topology.FolderPath))
	further := privileges.For(machinesOnly)
	return func(ref types.ManagedObjectReference) []privileges.Need {
		if hosts[ref] || ref.Type != "Folder" {
			return all
		}
		return further
	}
}

// A reader reads one vCenter.
type reader struct {
	source Source
	q      *Query
	// tree has all that was read so far.
	tree *model.Tree
}

// failed says of which vCenter an error is, nil if there is none.
func (r *reader) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %s: %w", r.source.VCenter, doing, faults.Printable{Err: err})
}

// about returns what the vCenter says of itself. The user stays empty if it cannot be read.
func (r *reader) about(ctx context.Context) About {
	client := r.source.Session.Client()
	a := client.ServiceContent.About
	about := About{Name: a.Name, Version: a.Version, Build: a.Build, APIVersion: a.ApiVersion, Instance: a.InstanceUuid}
	manager := client.ServiceContent.SessionManager
	if manager == nil {
		return about
	}
	_ = r.source.Session.Retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: manager.Type, PathSet: []string{"currentSession"}}},
		ObjectSet: []types.ObjectSpec{{Obj: *manager}},
	}, func(o *types.ObjectContent) {
		for _, p := range o.PropSet {
			if u, ok := p.Val.(types.UserSession); ok {
				about.User = u.UserName
			}
		}
	})
	return about
}

// skew asks the vCenter for its time.
func (r *reader) skew(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	now, err := methods.GetCurrentTime(ctx, r.source.Session.Client())
	if err != nil {
		return 0, r.failed("asking for the time", err)
	}
	took := time.Since(began)
	return now.Sub(began.Add(took / 2)), nil
}

// inventoryTypes are the types of objects that a survey has.
var inventoryTypes = []string{"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "HostSystem"}

// entityTypes are the types of objects that a survey may have read.
var entityTypes = append([]string{"VirtualMachine", "ResourcePool", "VirtualApp"}, inventoryTypes...)

// besideTypes are those of Query.Beside. A view of resource pools has vApps too.
var besideTypes = []string{"ResourcePool", "Folder"}

// beside returns which types of objects are read besides.
func (r *reader) beside() []string {
	if r.q.Beside {
		return besideTypes
	}
	return nil
}

// types returns the types of the objects of the survey.
func (r *reader) types() []string {
	if r.q.Beside {
		return append([]string{"ResourcePool", "VirtualApp"}, inventoryTypes...)
	}
	return inventoryTypes
}

// inventoryRefs returns what was read of the survey's objects.
func (r *reader) inventoryRefs() []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for _, kind := range r.types() {
		refs = append(refs, r.tree.OfType(kind)...)
	}
	return refs
}

func (r *reader) tagQuery(refs []types.ManagedObjectReference) tags.Query {
	paths := make(map[types.ManagedObjectReference]string, len(refs))
	for _, ref := range refs {
		paths[ref] = r.tree.Path(ref)
	}
	return tags.Query{Objects: refs, Paths: paths, Categories: r.q.Categories}
}

// objects returns the objects with their tags, in the order of their paths.
func (r *reader) objects(in inventoryRead, attached tags.Attachments) []*Object {
	if len(r.q.Categories) == 0 {
		attached.Err = tags.ErrNotRead
	}
	placed := r.tree.Objects(r.source.VCenter, attached, in.facts, r.types()...)
	all := make(map[types.ManagedObjectReference]*Object, len(placed))
	for ref, above := range placed {
		all[ref] = &Object{Object: above.Object, Broken: above.Broken, Host: in.hosts[ref]}
	}
	for ref, above := range placed {
		if above.Parent != nil {
			all[ref].Parent = all[*above.Parent]
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *Object) int {
		return strings.Compare(a.Path+"\x00"+a.Ref.Type+a.Ref.ID, b.Path+"\x00"+b.Ref.Type+b.Ref.ID)
	})
}

// definitions returns the categories that matter.
func (r *reader) definitions(ctx context.Context) ([]Category, error) {
	defined, err := r.source.Tags.Define(ctx, r.source.Tagging, r.q.Categories)
	var all []Category
	for _, d := range defined {
		all = append(all, Category{Name: d.Name, Multiple: d.Cardinality == "MULTIPLE", Types: d.Types, Tags: d.Tags, MoreTags: d.More})
	}
	return all, err
}
