package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

const (
	maxTagRequests = 4
	tagCacheTTL    = time.Hour
	vmsPerRequest  = 1000
)

func readSurveys(ctx context.Context, sessions []vcenter.OpenSession, needs vcenter.Requirements, q SurveyQuery) []Survey {
	surveys := make([]Survey, len(sessions))
	errs := ReadEach(ctx, sessions, "surveying the vCenter", func(ctx context.Context, i int, rest *session.REST) {
		surveys[i] = readOne(ctx, sessions[i], rest, needs, &q)
	})
	for i, err := range errs {
		if err != nil {
			surveys[i] = Survey{VCenter: sessions[i].VCenter, Err: err}
		}
	}
	return surveys
}

type surveyor struct {
	vcenter string
	session *session.Session
	rest    *session.REST
	q       *SurveyQuery
	tree    *model.Tree
	// confirmed are the causes of tag errors that the inventory has confirmed.
	confirmed map[types.ManagedObjectReference]error
}

// readOne surveys one vCenter. A failed part does not stop the other parts.
func readOne(ctx context.Context, open vcenter.OpenSession, rest *session.REST, needs vcenter.Requirements, q *SurveyQuery) Survey {
	r := surveyor{
		vcenter: open.VCenter, session: open.Session, rest: rest, q: q,
		tree: model.NewTree(open.Session.Client().ServiceContent.RootFolder),
	}
	s := Survey{VCenter: r.vcenter, About: r.about(ctx)}
	facts := model.HostFacts{Groups: needs.HostGroups, Domains: needs.FaultDomains}
	err := r.readObjects(ctx, facts)
	s.ObjectsErr = r.failed("listing clusters and hosts", err)
	attached := tags.Attachments{Err: topology.ErrNotRead}
	if len(q.Categories) > 0 {
		attached = tags.NewReader(r.vcenter, tagCacheTTL, maxTagRequests).Through(rest).Read(ctx, r.tagQuery())
		s.TagsErr = r.failed("reading tags", attached.Err)
		r.confirm(ctx, attached.NotPermitted())
		attached.Err = s.TagsErr
		s.Invisible = attached.Absent
		if q.Definitions {
			s.Categories, s.Visible, err = r.categories(ctx)
			s.CategoriesErr = r.failed("reading tag categories", err)
		}
	}
	s.Objects = r.objects(facts, attached)
	s.VMs, err = r.vms(ctx, q.VMs[r.vcenter])
	s.VMsErr = r.failed("reading VMs", err)
	return s
}

func (r *surveyor) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %s: %w", r.vcenter, doing, faults.Printable{Err: err})
}

func (r *surveyor) about(ctx context.Context) About {
	content := r.session.Client().ServiceContent
	about := About{Version: content.About.Version, APIVersion: content.About.ApiVersion}
	if content.SessionManager == nil {
		return about
	}
	_ = r.session.Retrieve(ctx, types.PropertyFilterSpec{ // After an error the user stays unknown.
		PropSet:   []types.PropertySpec{{Type: content.SessionManager.Type, PathSet: []string{"currentSession"}}},
		ObjectSet: []types.ObjectSpec{{Obj: *content.SessionManager}},
	}, func(o *types.ObjectContent) {
		for _, p := range o.PropSet {
			if u, ok := p.Val.(types.UserSession); ok {
				about.User = u.UserName
			}
		}
	})
	return about
}

// readObjects adds the datacenters, clusters and hosts and everything above them to tree.
func (r *surveyor) readObjects(ctx context.Context, facts model.HostFacts) error {
	view, destroy, err := ContainerView(ctx, r.session, []string{"Datacenter", "ComputeResource", "HostSystem"})
	if err != nil {
		return err
	}
	defer destroy()
	spec := model.DatacenterSpec(view)
	// No object of the view leads to an empty root folder.
	spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r.session.Client().ServiceContent.RootFolder})
	host := types.PropertySpec{Type: "HostSystem", PathSet: []string{"name", "parent", model.HostConnected}}
	for _, p := range facts.Properties() {
		if p.Type == host.Type {
			host.PathSet = append(host.PathSet, model.FaultDomain)
		} else {
			spec.PropSet = append(spec.PropSet, p)
		}
	}
	spec.PropSet = append(spec.PropSet, host)
	if err := r.session.Retrieve(ctx, spec, r.tree.Add); err != nil {
		return err
	}
	return r.tree.Err()
}

// overallStatus is a property of every object that is visible only with the privilege System.Read.
const overallStatus = "overallStatus"

// confirm asks the inventory about objects for which the tagging service returns 403: for a missing
// privilege, but also for objects that were just created or deleted. Deleted objects are removed from the
// tree. If the inventory does not answer, the original errors stay.
func (r *surveyor) confirm(ctx context.Context, rejected []types.ManagedObjectReference) {
	if len(rejected) == 0 {
		return
	}
	spec := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{overallStatus}}},
		ReportMissingObjectsInResults: types.NewBool(true),
	}
	for _, ref := range rejected {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	confirmed := make(map[types.ManagedObjectReference]error, len(rejected))
	err := r.session.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		confirmed[o.Obj] = tags.ErrDeleted
		if slices.ContainsFunc(o.MissingSet, func(p types.MissingProperty) bool { return p.Path == overallStatus }) {
			confirmed[o.Obj] = topology.ErrNotPermitted
		}
	})
	if err != nil {
		return
	}
	r.confirmed = confirmed
	for _, ref := range rejected {
		if confirmed[ref] == nil {
			r.tree.Remove(ref)
		}
	}
}

func (r *surveyor) refs() (refs []types.ManagedObjectReference) {
	for _, kind := range []string{"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "HostSystem"} {
		refs = append(refs, r.tree.OfType(kind)...)
	}
	return refs
}

func (r *surveyor) tagQuery() tags.Query {
	q := tags.Query{Objects: r.refs(), Paths: map[types.ManagedObjectReference]string{}, Categories: r.q.Categories}
	for _, ref := range q.Objects {
		q.Paths[ref] = r.tree.Path(ref)
	}
	return q
}

func (r *surveyor) objects(facts model.HostFacts, attached tags.Attachments) []*Object {
	hosts := &model.Memberships{Facts: facts}
	objects := map[types.ManagedObjectReference]*Object{}
	for _, ref := range r.refs() {
		o := &topology.Object{Ref: r.ref(ref), Name: r.tree.Name(ref), Path: r.tree.Path(ref)}
		o.Tags, o.TagsErr = attached.TagsOf(ref)
		o.TagsErr = cmp.Or(r.confirmed[ref], o.TagsErr)
		o.HostGroups, o.FaultDomain = hosts.Of(r.tree, ref)
		objects[ref] = &Object{Object: o}
	}
	for ref, o := range objects {
		if ref == r.session.Client().ServiceContent.RootFolder {
			continue
		}
		parent, err := r.tree.Parent(r.vcenter, ref)
		if o.Parent = objects[parent]; err == nil && o.Parent == nil {
			err = fmt.Errorf("%s cannot be read: give the account the role Read-only there", r.ref(parent).Located(""))
		}
		if o.Broken = err; err != nil {
			o.Parent = nil
		}
	}
	return slices.SortedFunc(maps.Values(objects), func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Ref.Type+a.Ref.ID, b.Ref.Type+b.Ref.ID))
	})
}

func (r *surveyor) ref(ref types.ManagedObjectReference) topology.Ref {
	return topology.Ref{VCenter: r.vcenter, Type: ref.Type, ID: ref.Value}
}

// An account that may read the UUID may read the flags, so an absent flag is off.
const (
	uuid      = "config.uuid"
	diskFlag  = "config.flags.diskUuidEnabled"
	diskKey   = `config.extraConfig["disk.EnableUUID"]`
	diskLower = `config.extraConfig["disk.enableUUID"]`
	tools     = "guest.toolsRunningStatus"
	power     = "runtime.powerState"
)

func (r *surveyor) vms(ctx context.Context, ids []string) (map[string]VMSettings, error) {
	settings := map[string]VMSettings{}
	for chunk := range slices.Chunk(ids, vmsPerRequest) {
		spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{uuid, diskFlag, diskKey, diskLower, tools, power}}}}
		for _, id := range chunk {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: model.VMRef(id)})
		}
		err := r.session.Retrieve(ctx, spec, func(o *types.ObjectContent) { settings[o.Obj.Value] = vmOf(o) })
		if err != nil {
			return settings, err
		}
	}
	return settings, nil
}

func vmOf(o *types.ObjectContent) VMSettings {
	isTrue := map[string]bool{}
	for _, p := range o.PropSet {
		switch p.Name {
		case uuid:
			isTrue[p.Name] = true
		case tools:
			isTrue[p.Name] = p.Val == string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
		case power:
			isTrue[p.Name] = p.Val == types.VirtualMachinePowerStatePoweredOn
		default:
			isTrue[p.Name] = isOn(p.Val)
		}
	}
	return VMSettings{LacksDiskUUID: isTrue[uuid] && !isTrue[diskFlag] && !isTrue[diskKey] && !isTrue[diskLower], LacksTools: isTrue[tools] && isTrue[power]}
}

// isOn parses a flag, or an extraConfig value of a VM.
func isOn(value any) bool {
	if option, ok := value.(types.OptionValue); ok {
		value = option.Value
	}
	text := fmt.Sprint(value)
	return strings.EqualFold(text, "true") || text == "1"
}

func (r *surveyor) categories(ctx context.Context) (all []Category, visible []string, err error) {
	err = tags.With(ctx, r.rest, func(s tags.Service) error {
		ids, err := s.Categories(ctx)
		if err != nil && rest.ClassOf(err) != rest.Denied {
			return fmt.Errorf("listing the tag categories: %w", err)
		}
		byID, err := r.definitions(ctx, s, ids)
		all = nil
		visible = nil
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			visible = append(visible, byID[id].Name)
		}
		for _, name := range r.q.Categories {
			for _, id := range slices.Sorted(maps.Keys(byID)) {
				if category := byID[id]; category.Name == name {
					all = append(all, Category{Name: name, Multiple: category.Cardinality == "MULTIPLE", Types: category.Types})
				}
			}
		}
		return err
	})
	return all, visible, err
}

// definitions skips categories that the account may not read or that were deleted.
func (r *surveyor) definitions(ctx context.Context, s tags.Service, ids []string) (map[string]tags.Category, error) {
	var mu sync.Mutex
	categories := make(map[string]tags.Category, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxTagRequests)
	for _, id := range ids {
		g.Go(func() error {
			category, err := s.Category(ctx, id)
			class := rest.ClassOf(err)
			if class == rest.NotFound || class == rest.Denied {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			categories[id] = category
			return nil
		})
	}
	return categories, g.Wait()
}
