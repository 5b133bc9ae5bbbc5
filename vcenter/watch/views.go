package watch

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/watch/model"
)

// filters is a set of property filters.
type filters map[types.ManagedObjectReference]bool

// views are what a watch has created on the server to have changes reported.
type views struct {
	session Session
	// hosts is what is read of hosts, and how.
	hosts *model.HostFacts

	collector types.ManagedObjectReference
	// These are the filters that report the machines of the containers, the machines on
	// the list and what is above them, and the datacenters' names.
	index, details, datacenters filters
	// containers are the views that have all machines.
	containers []types.ManagedObjectReference
}

func newViews(s Session, hosts *model.HostFacts) *views {
	return &views{session: s, hosts: hosts, index: filters{}, details: filters{}, datacenters: filters{}}
}

// begin makes the property collector.
func (v *views) begin(ctx context.Context) error {
	client := v.session.Client()
	res, err := methods.CreatePropertyCollector(ctx, client, &types.CreatePropertyCollector{This: client.ServiceContent.PropertyCollector})
	if err != nil {
		return fmt.Errorf("making a property collector: %w", err)
	}
	v.collector = res.Returnval
	v.session.Track(v.collector, session.DestroyPropertyCollector)
	return nil
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
	for {
		err := v.filter(ctx, v.details, model.DetailSpec(list, *v.hosts))
		if len(v.hosts.Properties()) == 0 || !faults.Is[types.InvalidProperty](err) {
			return err
		}
		klog.FromContext(ctx).Info("The vCenter refuses some properties of host groups and fault domains", "err", faults.Printable{Err: err})
		v.hosts.Access++
	}
}

// filter makes a filter and adds it to a set.
func (v *views) filter(ctx context.Context, into filters, spec types.PropertyFilterSpec) error {
	res, err := methods.CreateFilter(ctx, v.session.Client(), &types.CreateFilter{This: v.collector, Spec: spec})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	into[res.Returnval] = true
	return nil
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
	s.Track(res.Returnval, session.DestroyView)
	return res.Returnval, nil
}
