package watch

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/watch/model"
)

// filters is a set of property filters.
type filters map[types.ManagedObjectReference]bool

// views are what a watch has created on the server to have changes reported.
type views struct {
	session Session
	// hosts is what is read of hosts.
	hosts model.HostFacts

	collector types.ManagedObjectReference
	// These are the filters that report the machines of the containers, the machines on
	// the list and what is above them, and the datacenters' names.
	index, details, datacenters filters
	// containers are the views that have all machines.
	containers []types.ManagedObjectReference
}

func newViews(s Session, hosts model.HostFacts) *views {
	return &views{session: s, hosts: hosts, index: filters{}, details: filters{}, datacenters: filters{}}
}

// begin makes the property collector.
func (v *views) begin(ctx context.Context) (err error) {
	v.collector, err = v.newCollector(ctx)
	return err
}

func (v *views) newCollector(ctx context.Context) (types.ManagedObjectReference, error) {
	client := v.session.Client()
	res, err := methods.CreatePropertyCollector(ctx, client, &types.CreatePropertyCollector{This: client.ServiceContent.PropertyCollector})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("making a property collector: %w", err)
	}
	v.session.Track(res.Returnval)
	return res.Returnval, nil
}

// newDetailCollector makes a property collector that reports only the machines on a list.
func (v *views) newDetailCollector(ctx context.Context, list types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	collector, err := v.newCollector(ctx)
	if err == nil {
		_, err = v.newFilter(ctx, collector, model.DetailSpec(list, v.hosts))
	}
	return collector, err
}

// concernsNodes reports whether a page has anything but changes of the index and of names. Any goroutine may call it
// once the filters over details and datacenters are made.
func (v *views) concernsNodes(page *types.UpdateSet) bool {
	return slices.ContainsFunc(page.FilterSet, func(f types.PropertyFilterUpdate) bool {
		return v.details[f.Filter] || v.datacenters[f.Filter]
	})
}

// watchIndex makes the views of all machines below the roots.
func (v *views) watchIndex(ctx context.Context, roots []types.ManagedObjectReference) error {
	for _, root := range roots {
		view, err := containerView(ctx, v.session, root, "VirtualMachine")
		if err != nil {
			return fmt.Errorf("listing the machines of %s: %w", root.Value, err)
		}
		v.containers = append(v.containers, view)
		if err := v.filter(ctx, v.index, model.ViewSpec(view, "VirtualMachine", model.IndexProperties...)); err != nil {
			return err
		}
	}
	return nil
}

// watchDatacenters has datacenters reported that come, go or get another name.
func (v *views) watchDatacenters(ctx context.Context) error {
	view, err := containerView(ctx, v.session, v.session.Client().ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return fmt.Errorf("listing datacenters: %w", err)
	}
	return v.filter(ctx, v.datacenters, model.DatacenterSpec(view))
}

// watchDetails makes the filter over the machines on a list.
func (v *views) watchDetails(ctx context.Context, list types.ManagedObjectReference) error {
	return v.filter(ctx, v.details, model.DetailSpec(list, v.hosts))
}

// filter makes a filter and adds it to a set.
func (v *views) filter(ctx context.Context, into filters, spec types.PropertyFilterSpec) error {
	f, err := v.newFilter(ctx, v.collector, spec)
	if err == nil {
		into[f] = true
	}
	return err
}

func (v *views) newFilter(ctx context.Context, collector types.ManagedObjectReference, spec types.PropertyFilterSpec) (types.ManagedObjectReference, error) {
	res, err := methods.CreateFilter(ctx, v.session.Client(), &types.CreateFilter{This: collector, Spec: spec})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("watching: %w", err)
	}
	return res.Returnval, nil
}

// containerView makes a view of everything of a type below an object.
func containerView(ctx context.Context, s Session, root types.ManagedObjectReference, kind string) (types.ManagedObjectReference, error) {
	client := s.Client()
	res, err := methods.CreateContainerView(ctx, client, &types.CreateContainerView{
		This:      *client.ServiceContent.ViewManager,
		Container: root,
		Type:      []string{kind},
		Recursive: true,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	s.Track(res.Returnval)
	return res.Returnval, nil
}

// datacenters are those that are configured, all if none is.
type datacenters struct {
	vcenter string
	wanted  []string
	// tree has the datacenters that a filter has reported, with their folders.
	tree *model.Tree
	// reported reports whether the filter has reported something since that was last compared.
	reported bool
	// roots are what contains the machines: the datacenters that the views were made
	// for, or the root folder.
	roots []types.ManagedObjectReference
	// missing says which of the configured ones are not there, or not visible to the
	// account. Nil if none is.
	missing error
	// unmatched are those that are missing, and visible the paths of all datacenters that the
	// account sees, as they are shown.
	unmatched, visible []string
}

func newDatacenters(vcenter string, wanted []string, root types.ManagedObjectReference) *datacenters {
	return &datacenters{vcenter: vcenter, wanted: wanted, tree: model.NewTree(root)}
}

// find finds the configured datacenters.
func (d *datacenters) find(ctx context.Context, s Session) error {
	root := s.Client().ServiceContent.RootFolder
	if len(d.wanted) == 0 {
		d.roots = []types.ManagedObjectReference{root}
		return nil
	}
	tree := model.NewTree(root)
	if err := readDatacenters(ctx, s, tree); err != nil {
		return fmt.Errorf("listing datacenters: %w", err)
	}
	d.roots, d.unmatched, d.visible = matching(tree, d.wanted)
	d.missing = missingError(d.unmatched)
	return nil
}

func readDatacenters(ctx context.Context, s Session, into *model.Tree) error {
	view, err := containerView(ctx, s, s.Client().ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return err
	}
	if err := s.Retrieve(ctx, model.DatacenterSpec(view), into.Add); err != nil {
		return err
	}
	if err := into.Err(); err != nil {
		return err
	}
	if err := s.Destroy(ctx, view); err != nil && (faults.SessionLost(err) || !faults.FromServer(err)) {
		return err
	}
	return nil
}

// changed reports whether the views have to be of other datacenters by what the filter has
// reported.
func (d *datacenters) changed() bool {
	if !d.reported {
		return false
	}
	d.reported = false
	roots, unmatched, visible := matching(d.tree, d.wanted)
	d.visible = visible
	return !slices.Equal(roots, d.roots) || !slices.Equal(unmatched, d.unmatched)
}

// log logs which of the configured datacenters are not there, if last is not that, and
// returns what it is now.
func (d *datacenters) log(ctx context.Context, last string) string {
	missing := ""
	if d.missing != nil {
		missing = d.missing.Error()
	}
	log := klog.FromContext(ctx)
	switch missing {
	case last:
	case "":
		log.Info("All of the configured datacenters are found")
	default:
		log.Info("Not all of the configured datacenters are found; until they are, no machine counts as gone", "err", missing, "visible", d.visible)
	}
	return missing
}

// incomplete returns why machines may be missing from the index, nil if none is.
func (d *datacenters) incomplete() error {
	if d.missing == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %w", d.vcenter, d.missing)
}

// matching returns the datacenters that are wanted, what is wanted and is not there, and the paths
// of all that are, in order.
func matching(t *model.Tree, wanted []string) (refs []types.ManagedObjectReference, unmatched, visible []string) {
	var all []config.Datacenter
	for _, ref := range t.OfType("Datacenter") {
		all = append(all, config.Datacenter{ID: ref.Value, Name: t.Name(ref), Path: t.Path(ref)})
		visible = append(visible, quote.Name(t.Path(ref)))
	}
	matched, unmatched := config.MatchDatacenters(wanted, all)
	for _, d := range matched {
		refs = append(refs, types.ManagedObjectReference{Type: "Datacenter", Value: d.ID})
	}
	slices.Sort(visible)
	return refs, unmatched, visible
}

// missingError returns what is wrong with entries that fit no datacenter, nil if there are none.
func missingError(unmatched []string) error {
	errs := make([]error, len(unmatched))
	for i, w := range unmatched {
		errs[i] = fmt.Errorf("datacenter %q is not there or the account may not see it", w)
		if config.IsDatacenterPattern(w) {
			errs[i] = fmt.Errorf("pattern %q fits no datacenter that the account may see", w)
		}
	}
	if err := quote.Errors(quote.Most, errs...); err != nil {
		return fmt.Errorf("%w: correct datacenters in the configuration, or let the account see it", err)
	}
	return nil
}
