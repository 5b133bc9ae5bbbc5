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

type filters map[types.ManagedObjectReference]bool

type views struct {
	session Session
	hosts   model.HostFacts

	collector types.ManagedObjectReference
	// The filters in index report all VMs. The filters in details report the VMs in the list view and their ancestors.
	index, details, datacenters filters
	containers                  []types.ManagedObjectReference
}

func newViews(s Session, hosts model.HostFacts) *views {
	return &views{session: s, hosts: hosts, index: filters{}, details: filters{}, datacenters: filters{}}
}

func (v *views) begin(ctx context.Context) (err error) {
	v.collector, err = v.newCollector(ctx)
	return err
}

func (v *views) newCollector(ctx context.Context) (types.ManagedObjectReference, error) {
	client := v.session.Client()
	res, err := methods.CreatePropertyCollector(ctx, client, &types.CreatePropertyCollector{This: client.ServiceContent.PropertyCollector})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating a property collector: %w", err)
	}
	v.session.Track(res.Returnval)
	return res.Returnval, nil
}

func (v *views) newDetailCollector(ctx context.Context, list types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	collector, err := v.newCollector(ctx)
	if err == nil {
		_, err = v.newFilter(ctx, collector, model.DetailSpec(list, v.hosts))
	}
	return collector, err
}

// concernsNodes reports whether a page contains details or datacenters. It is safe for concurrent use
// once their filters exist.
func (v *views) concernsNodes(page *types.UpdateSet) bool {
	return slices.ContainsFunc(page.FilterSet, func(f types.PropertyFilterUpdate) bool {
		return v.details[f.Filter] || v.datacenters[f.Filter]
	})
}

func (v *views) watchIndex(ctx context.Context, roots []types.ManagedObjectReference) error {
	for _, root := range roots {
		view, err := containerView(ctx, v.session, root, "VirtualMachine")
		if err != nil {
			return fmt.Errorf("listing the VMs of %s: %w", root.Value, err)
		}
		v.containers = append(v.containers, view)
		if err := v.filter(ctx, v.index, model.ViewSpec(view, "VirtualMachine", model.IndexProperties...)); err != nil {
			return err
		}
	}
	return nil
}

func (v *views) watchDatacenters(ctx context.Context) error {
	view, err := containerView(ctx, v.session, v.session.Client().ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return fmt.Errorf("listing datacenters: %w", err)
	}
	return v.filter(ctx, v.datacenters, model.DatacenterSpec(view))
}

func (v *views) watchDetails(ctx context.Context, list types.ManagedObjectReference) error {
	return v.filter(ctx, v.details, model.DetailSpec(list, v.hosts))
}

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
		return types.ManagedObjectReference{}, fmt.Errorf("creating a filter: %w", err)
	}
	return res.Returnval, nil
}

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

type datacenters struct {
	vcenter     string
	wanted      []string
	tree        *model.Tree
	treeChanged bool
	// roots are the watched datacenters, or the root folder.
	roots   []types.ManagedObjectReference
	missing error
	// unmatched are the entries without a datacenter, visible the quoted paths of all datacenters that
	// the account sees.
	unmatched, visible []string
}

func newDatacenters(vcenter string, wanted []string, root types.ManagedObjectReference) *datacenters {
	return &datacenters{vcenter: vcenter, wanted: wanted, tree: model.NewTree(root)}
}

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

func (d *datacenters) changed() bool {
	if !d.treeChanged {
		return false
	}
	d.treeChanged = false
	roots, unmatched, visible := matching(d.tree, d.wanted)
	d.visible = visible
	return !slices.Equal(roots, d.roots) || !slices.Equal(unmatched, d.unmatched)
}

func (d *datacenters) log(ctx context.Context, last string) string {
	missing := ""
	if d.missing != nil {
		missing = d.missing.Error()
	}
	log := klog.FromContext(ctx)
	switch missing {
	case last:
	case "":
		log.Info("Found all configured datacenters")
	default:
		log.Info("Some configured datacenters are missing; until they are found, no VM is considered absent", "err", missing, "visible", d.visible)
	}
	return missing
}

func (d *datacenters) incomplete() error {
	if d.missing == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %w", d.vcenter, d.missing)
}

func matching(t *model.Tree, wanted []string) (refs []types.ManagedObjectReference, unmatched, visible []string) {
	var found []config.Datacenter
	for _, ref := range t.OfType("Datacenter") {
		found = append(found, config.Datacenter{ID: ref.Value, Name: t.Name(ref), Path: t.Path(ref)})
		visible = append(visible, quote.Name(t.Path(ref)))
	}
	matched, unmatched := config.MatchDatacenters(wanted, found)
	for _, d := range matched {
		refs = append(refs, types.ManagedObjectReference{Type: "Datacenter", Value: d.ID})
	}
	slices.Sort(visible)
	return refs, unmatched, visible
}

func missingError(unmatched []string) error {
	errs := make([]error, len(unmatched))
	for i, w := range unmatched {
		errs[i] = fmt.Errorf("datacenter %q does not exist or is not visible to the account", w)
		if config.IsDatacenterPattern(w) {
			errs[i] = fmt.Errorf("pattern %q matches no datacenter visible to the account", w)
		}
	}
	if err := quote.Errors(quote.Most, errs...); err != nil {
		return fmt.Errorf("%w: correct datacenters in the configuration, or give the account access", err)
	}
	return nil
}
