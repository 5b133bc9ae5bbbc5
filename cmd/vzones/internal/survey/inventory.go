package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/watch/model"
)

// wanted is what is read of clusters and hosts beside their names.
type wanted struct {
	Rules bool
	// Beside are further types of objects to be read.
	Beside []string
	Facts  model.HostFacts
}

// An inventoryRead is what was read of clusters and hosts beside the tree.
type inventoryRead struct {
	hosts    map[types.ManagedObjectReference]Host
	clusters map[string]*Cluster
	facts    model.HostFacts
}

// destroyTime bounds the destruction of a view, which happens also when the context is done.
const destroyTime = 3 * time.Second

// inView calls f with a container view of everything of some types below an object.
func inView(ctx context.Context, s *session.Session, container types.ManagedObjectReference, kinds []string, f func(types.ManagedObjectReference) error) error {
	client := s.Client()
	res, err := methods.CreateContainerView(ctx, client, &types.CreateContainerView{
		This: *client.ServiceContent.ViewManager, Container: container, Type: kinds, Recursive: true,
	})
	if err != nil {
		return fmt.Errorf("making a container view: %w", err)
	}
	s.Track(res.Returnval, session.DestroyView)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTime)
		defer cancel()
		_ = s.Destroy(ctx, res.Returnval) // it stays tracked, and goes with the session
	}()
	return f(res.Returnval)
}

// readInventory reads the datacenters, clusters and hosts with all that is above them.
func readInventory(ctx context.Context, s *session.Session, into *model.Tree, want wanted) (inventoryRead, error) {
	read := inventoryRead{hosts: map[types.ManagedObjectReference]Host{}, clusters: map[string]*Cluster{}, facts: want.Facts}
	root := s.Client().ServiceContent.RootFolder
	err := inView(ctx, s, root, append([]string{"Datacenter", "ComputeResource", "HostSystem"}, want.Beside...), func(view types.ManagedObjectReference) error {
		for {
			err := s.Retrieve(ctx, inventorySpec(view, root, want.Rules, read.facts), func(o *types.ObjectContent) {
				into.Add(o)
				read.add(o)
			})
			if !faults.Is[*types.InvalidProperty](err) || read.facts.Access == model.NoHostFacts || !read.facts.Any() {
				return err
			}
			read.facts.Access++
		}
	})
	if !want.Rules {
		read.clusters = nil
	}
	return read, err
}

// inventorySpec reads what is in a view and all that is above that, and the root folder, which
// nothing may be below.
func inventorySpec(view, root types.ManagedObjectReference, rules bool, facts model.HostFacts) types.PropertyFilterSpec {
	spec := model.DatacenterSpec(view)
	spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: root})
	host := types.PropertySpec{Type: "HostSystem", PathSet: []string{"name", "parent", model.HostConnected, maintenance}}
	for _, p := range facts.Properties() {
		switch {
		case p.Type == host.Type:
			host.PathSet = append(host.PathSet, model.FaultDomain)
		case !rules:
			spec.PropSet = append(spec.PropSet, p)
		}
	}
	spec.PropSet = append(spec.PropSet, host)
	if rules {
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: "ClusterComputeResource", PathSet: []string{"name", "parent", model.ClusterConfig}})
	}
	return spec
}

const maintenance = "runtime.inMaintenanceMode"

func (r *inventoryRead) add(o *types.ObjectContent) {
	switch o.Obj.Type {
	case "HostSystem":
		r.hosts[o.Obj] = hostOf(o)
	case "ClusterComputeResource":
		r.clusters[o.Obj.Value] = clusterOf(o)
	}
}

func hostOf(o *types.ObjectContent) Host {
	h := Host{StateErr: errNotReported}
	for _, p := range o.PropSet {
		switch p.Name {
		case maintenance:
			h.InMaintenance, _ = p.Val.(bool)
		case model.HostConnected:
			state, ok := p.Val.(types.HostSystemConnectionState)
			if h.Connected = state == types.HostSystemConnectionStateConnected; ok {
				h.StateErr = nil
			}
		}
	}
	if err := missing(o, model.HostConnected); err != nil {
		h.StateErr = err
	}
	return h
}
