package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/cmd/vzones/recording"
	"vzones/cmd/vzones/world"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

const (
	tagRequests = 4
	tagCacheTTL = time.Hour
)

// A reading contains the responses of one vCenter.
type reading struct {
	about   recording.VCenter
	objects []types.ObjectContent
	tags    recording.Tags
	// warnings are the errors with the original names, which only the user sees.
	warnings []string
}

type reader struct {
	names *names
	// vCenter is the original name.
	vCenter string
	session *session.Session
	rest    *session.REST
	// categories are the tag categories of the configured rules.
	categories []string
	out        *reading
}

func newReader(n *names, open vcenter.OpenSession, categories []string) *reader {
	r := &reader{names: n, vCenter: open.VCenter, session: open.Session, categories: categories, out: &reading{}}
	r.out.about.Name = n.text(open.VCenter)
	r.out.about.Milliseconds = map[string]int64{}
	r.out.about.TagErrors = map[string]int{}
	r.out.tags.Categories = []recording.Category{}
	return r
}

// read reads the vCenter. A failed part does not stop the other parts.
func (r *reader) read(ctx context.Context, rest *session.REST) {
	r.rest = rest
	about := r.session.Client().ServiceContent.About
	r.out.about.Version = versionOf(about.Version)
	r.out.about.Build = versionOf(about.Build)
	r.timed("inventory", func() error { return r.inventory(ctx) })
	if len(r.categories) > 0 {
		r.timed("tags", func() error { return r.readTags(ctx) })
	}
}

func (r *reader) timed(what string, read func() error) {
	start := time.Now()
	err := read()
	r.out.about.Milliseconds[what] = time.Since(start).Milliseconds()
	if err != nil {
		r.failed("reading the "+what, err)
	}
}

func (r *reader) failed(doing string, err error) {
	r.out.about.Errors = append(r.out.about.Errors, doing+": "+r.describe(err))
	text := world.Plain(r.vCenter, faults.Printable{Err: err})
	r.out.warnings = append(r.out.warnings, fmt.Sprintf("vCenter %q: %s: %s", r.vCenter, doing, text))
}

// describe keeps the cause and the HTTP status of an error, and replaces all words of its text.
func (r *reader) describe(err error) string {
	cause := string(faults.CauseOf(err))
	var status *rest.StatusError
	if errors.As(err, &status) {
		cause = fmt.Sprintf("HTTP status %d", status.Code)
	}
	return fmt.Sprintf("%s (%s)", cause, r.names.text(faults.Printable{Err: err}.Error()))
}

// inventory reads all objects and adds the lists of children that the simulator needs.
func (r *reader) inventory(ctx context.Context) error {
	view, destroy, err := world.ContainerView(ctx, r.session, inventoryTypes)
	if err != nil {
		return err
	}
	defer destroy()
	spec := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{{Obj: r.session.Client().ServiceContent.RootFolder}, {
		Obj: view, Skip: types.NewBool(true),
		SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
	}}}
	for _, kind := range inventoryTypes {
		set := types.PropertySpec{Type: kind}
		for _, p := range propertiesOf(kind) {
			set.PathSet = append(set.PathSet, p.path)
		}
		spec.PropSet = append(spec.PropSet, set)
	}
	objects := map[types.ManagedObjectReference][]types.DynamicProperty{}
	err = r.session.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		if isRecordable(o.Obj) {
			objects[types.ManagedObjectReference{Type: o.Obj.Type, Value: o.Obj.Value}] = recorded(r.names, o)
		}
	})
	r.out.about.Unreadable = dropDangling(objects)
	r.out.objects = append(r.service(), withChildren(objects)...)
	r.out.about.Objects = map[string]int{}
	for ref := range objects {
		r.out.about.Objects[ref.Type]++
	}
	return err
}

// dropDangling removes and returns references to objects that the account cannot see. The simulator rejects these.
func dropDangling(objects map[types.ManagedObjectReference][]types.DynamicProperty) (unreadable []string) {
	for from, set := range objects {
		objects[from] = slices.DeleteFunc(set, func(p types.DynamicProperty) bool {
			to, ok := p.Val.(types.ManagedObjectReference)
			_, there := objects[to]
			if ok && !there {
				unreadable = append(unreadable, fmt.Sprintf("%s of %s: %s", p.Name, from.Value, to.Value))
			}
			return ok && !there
		})
	}
	slices.Sort(unreadable)
	return unreadable
}

// service returns the service instance and the managers that the simulator needs.
func (r *reader) service() []types.ObjectContent {
	read := r.session.Client().ServiceContent
	manager := func(kind, id string) *types.ManagedObjectReference {
		return &types.ManagedObjectReference{Type: kind, Value: id}
	}
	content := types.ServiceContent{
		RootFolder: read.RootFolder, PropertyCollector: *manager("PropertyCollector", "propertyCollector"),
		ViewManager: manager("ViewManager", "ViewManager"), SessionManager: manager("SessionManager", "SessionManager"),
		SearchIndex: manager("SearchIndex", "SearchIndex"), Setting: manager("OptionManager", "VpxSettings"),
		EventManager: manager("EventManager", "EventManager"), TaskManager: manager("TaskManager", "TaskManager"),
		About: types.AboutInfo{
			Name: "VMware vCenter Server", FullName: "VMware vCenter Server", Vendor: "VMware, Inc.", Version: versionOf(read.About.Version),
			Build: versionOf(read.About.Build), OsType: "linux-x64", ProductLineId: "vpx", ApiType: "VirtualCenter",
			ApiVersion: versionOf(read.About.ApiVersion), InstanceUuid: r.names.text(read.About.InstanceUuid),
		},
	}
	objects := []types.ObjectContent{{Obj: vim25.ServiceInstance, PropSet: []types.DynamicProperty{{Name: "content", Val: content}}}}
	for _, m := range []*types.ManagedObjectReference{&content.PropertyCollector, content.ViewManager, content.SessionManager,
		content.SearchIndex, content.Setting, content.EventManager, content.TaskManager} {
		objects = append(objects, types.ObjectContent{Obj: *m})
	}
	return objects
}

var versionPattern = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

func versionOf(s string) string {
	if versionPattern.MatchString(s) {
		return s
	}
	return ""
}

// children are the properties that list the children of an object, by its type. The lists are not read, but
// follow from the references of the children.
var children = map[string][]struct {
	property string
	types    []string
}{
	typeFolder:  {{"childEntity", []string{typeFolder, typeDatacenter, typeCompute, typeCluster, typeVM}}},
	typeCompute: {{"host", []string{typeHost}}},
	typeCluster: {{"host", []string{typeHost}}},
	typePool:    {{"resourcePool", []string{typePool, typeVApp}}, {"vm", []string{typeVM}}},
	typeVApp:    {{"resourcePool", []string{typePool, typeVApp}}, {"vm", []string{typeVM}}},
}

// withChildren returns the objects in order, parents' types before children's, with their lists of children.
func withChildren(objects map[types.ManagedObjectReference][]types.DynamicProperty) []types.ObjectContent {
	sorted := slices.SortedFunc(maps.Keys(objects), compareRefs)
	below := map[types.ManagedObjectReference][]types.ManagedObjectReference{}
	for _, ref := range sorted {
		for _, p := range objects[ref] {
			isPool := ref.Type == typeVM && (p.Name == "resourcePool" || p.Name == "parentVApp")
			if parent, ok := p.Val.(types.ManagedObjectReference); ok && (p.Name == "parent" || isPool) && !slices.Contains(below[parent], ref) {
				below[parent] = append(below[parent], ref)
			}
		}
	}
	content := make([]types.ObjectContent, 0, len(sorted))
	for _, ref := range sorted {
		o := types.ObjectContent{Obj: ref, PropSet: objects[ref]}
		for _, list := range children[ref.Type] {
			refs := types.ArrayOfManagedObjectReference{}
			for _, child := range below[ref] {
				if slices.Contains(list.types, child.Type) {
					refs.ManagedObjectReference = append(refs.ManagedObjectReference, child)
				}
			}
			o.PropSet = append(o.PropSet, types.DynamicProperty{Name: list.property, Val: refs})
		}
		content = append(content, o)
	}
	return content
}

func compareRefs(a, b types.ManagedObjectReference) int {
	return cmp.Or(
		cmp.Compare(slices.Index(inventoryTypes, a.Type), slices.Index(inventoryTypes, b.Type)),
		cmp.Compare(len(a.Value), len(b.Value)), strings.Compare(a.Value, b.Value),
	)
}

// readTags reads the tags of the configured rules' categories.
func (r *reader) readTags(ctx context.Context) error {
	query := tags.Query{Categories: r.categories}
	for _, o := range r.out.objects {
		if slices.Contains(inventoryTypes, o.Obj.Type) {
			query.Objects = append(query.Objects, o.Obj)
		}
	}
	attached := tags.NewReader(r.out.about.Name, tagCacheTTL, tagRequests).Through(r.rest).Read(ctx, query)
	if attached.Err != nil {
		return attached.Err
	}
	objects := map[string]map[string][]string{} // by category and tag
	for _, ref := range query.Objects {
		found, err := attached.TagsOf(ref)
		if err != nil {
			r.out.about.TagErrors[r.describe(err)]++
			continue
		}
		for _, t := range found {
			if objects[t.Category] == nil {
				objects[t.Category] = map[string][]string{}
			}
			objects[t.Category][t.Name] = append(objects[t.Category][t.Name], ref.String())
		}
	}
	return r.readCategories(ctx, objects)
}

func (r *reader) readCategories(ctx context.Context, objects map[string]map[string][]string) error {
	return tags.With(ctx, r.rest, func(s tags.Service) error {
		r.out.tags.Categories = nil
		ids, err := s.Categories(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			category, err := s.Category(ctx, id)
			if class := rest.ClassOf(err); class == rest.NotFound || class == rest.Denied {
				continue
			}
			if err != nil {
				return err
			}
			if !slices.Contains(r.categories, category.Name) {
				continue
			}
			cardinality := "SINGLE"
			if category.Cardinality == "MULTIPLE" {
				cardinality = "MULTIPLE"
			}
			to := recording.Category{
				Name: r.names.text(category.Name), Cardinality: cardinality, Types: associableTypes(category.Types), Tags: []recording.Tag{},
			}
			for name, attached := range objects[category.Name] {
				to.Tags = append(to.Tags, recording.Tag{Name: r.names.text(name), Objects: attached})
			}
			slices.SortFunc(to.Tags, func(a, b recording.Tag) int { return strings.Compare(a.Name, b.Name) })
			r.out.tags.Categories = append(r.out.tags.Categories, to)
		}
		slices.SortFunc(r.out.tags.Categories, func(a, b recording.Category) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
}

// associableTypes omits types outside the inventory, such as com.vmware.content.Library.
func associableTypes(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !mo.IsManagedObjectType(s) })
}
