package survey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

const (
	// logoutTime bounds the end of a session of the REST API.
	logoutTime = 3 * time.Second
	// tagsAtOnce is how many requests for tags are under way, and tagsFor how long what they answer serves.
	tagsAtOnce, tagsFor = 4, time.Hour
)

// Read reads what a query asks for from each vCenter, all side by side, through the sessions of a fleet.
// It returns one Survey for each, in their order. That of a vCenter without a session has an error.
// Requirements are those of the fleet.
func Read(ctx context.Context, sessions []vcenter.OpenSession, needs vcenter.Requirements, q Query) []Survey {
	all := make([]Survey, len(sessions))
	var side sync.WaitGroup
	for i, s := range sessions {
		side.Go(func() {
			err := s.Err
			if err == nil {
				err = new(faults.Guard).Run(ctx, "surveying the vCenter", func() error {
					all[i] = readOne(ctx, s, needs, &q)
					return nil
				})
			}
			if err != nil {
				all[i] = Survey{VCenter: s.VCenter, Err: err}
			}
		})
	}
	side.Wait()
	return all
}

// A reader reads one vCenter.
type reader struct {
	vcenter string
	session *session.Session
	// rest is a session of the REST API that no other goroutine uses, and tags reads through it.
	rest  *session.REST
	tags  *tags.Reader
	needs vcenter.Requirements
	q     *Query
	// tree has all that was read so far.
	tree *model.Tree
}

// readOne reads one vCenter. What cannot be read is an error of its part.
func readOne(ctx context.Context, from vcenter.OpenSession, needs vcenter.Requirements, q *Query) Survey {
	rest := from.Session.NewREST() // the watch has the session of the tagging API that belongs to this one
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTime)
		defer cancel()
		if err := rest.Close(ctx); err != nil {
			klog.FromContext(ctx).Error(faults.Printable{Err: err}, "Cannot log out; the session ends when it has been idle for long enough", "vCenter", from.VCenter)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of a login that is under way
	r := reader{
		vcenter: from.VCenter, session: from.Session, rest: rest, tags: tags.NewReader(from.VCenter, tagsFor, tagsAtOnce).Through(rest),
		needs: needs, q: q, tree: model.NewTree(from.Session.Client().ServiceContent.RootFolder),
	}
	return r.read(ctx)
}

func (r *reader) read(ctx context.Context) Survey {
	q, s := r.q, Survey{VCenter: r.vcenter, About: r.about(ctx)}
	s.Skew, s.SkewErr = r.skew(ctx)
	inventory, err := readInventory(ctx, r.session, r.tree, wanted{
		Rules: q.Rules, Beside: r.beside(), Facts: model.HostFacts{Groups: r.needs.HostGroups, Domains: r.needs.FaultDomains},
	})
	s.ObjectsErr = r.failed("listing clusters and hosts", err)
	var attached tags.Attachments
	compute := r.inventoryRefs()
	if len(q.Categories) > 0 {
		attached = r.tags.Read(ctx, r.tagQuery(compute))
		attached.Err = r.failed("reading tags", attached.Err)
		s.Invisible = attached.Absent
	}
	s.Objects = r.objects(inventory, attached)
	if q.Rules {
		s.Clusters = inventory.clusters
	}
	if q.Definitions {
		defined, visible, err := r.definitions(ctx)
		s.Visible = visible
		for i := range defined {
			s.Categories = append(s.Categories, defined[i].Category)
		}
		s.CategoriesErr = r.failed("reading tag categories", err)
		if s.TaggedErr = cmp.Or(attached.Err, s.CategoriesErr); s.TaggedErr == nil {
			s.Tagged, s.TaggedErr = r.tagged(ctx, defined)
		}
	}
	s.Machines, err = readMachines(ctx, r.session, r.tree, r.vcenter, q.Machines[r.vcenter], q.Folder)
	s.MachinesErr = r.failed("reading machines", err)
	if q.Privileges {
		s.Denied, err = readDenied(ctx, r.session, s.About.User, r.objectsOf(tags.Attachments{}, model.HostFacts{}, entityTypes...), r.needed(compute))
		s.DeniedErr = r.failed("asking which privileges the account has", err)
	}
	return s
}

// needed returns what is needed on an object. Objects that are not of the compute path have tags that
// matter only where the others are walked.
func (r *reader) needed(compute []types.ManagedObjectReference) func(types.ManagedObjectReference) []Need {
	all := NeedsOf(r.needs)
	hosts := make(map[types.ManagedObjectReference]bool, len(compute))
	for _, ref := range compute {
		hosts[ref] = true
	}
	machinesOnly := r.needs
	machinesOnly.Tags = r.needs.Tags && (len(r.needs.Paths) == 0 || slices.Contains(r.needs.Paths, topology.FolderPath))
	further := NeedsOf(machinesOnly)
	return func(ref types.ManagedObjectReference) []Need {
		if hosts[ref] || ref.Type != "Folder" {
			return all
		}
		return further
	}
}

// failed says of which vCenter an error is, nil if there is none.
func (r *reader) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %s: %w", r.vcenter, doing, faults.Printable{Err: err})
}

// about returns what the vCenter says of itself. The user stays empty if it cannot be read.
func (r *reader) about(ctx context.Context) About {
	client := r.session.Client()
	a := client.ServiceContent.About
	about := About{Name: a.Name, Version: a.Version, Build: a.Build, APIVersion: a.ApiVersion, Instance: a.InstanceUuid}
	manager := client.ServiceContent.SessionManager
	if manager == nil {
		return about
	}
	_ = r.session.Retrieve(ctx, types.PropertyFilterSpec{
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
	now, err := methods.GetCurrentTime(ctx, r.session.Client())
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
	placed := r.objectsOf(attached, in.facts, r.types()...)
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
