package fleet

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Fleet is a set of running vCenters. Its methods may be called concurrently.
type Fleet struct {
	vcenters []*VCenter
}

// Start starts the vCenters of a description in parallel. They run until Close; ctx bounds Start
// only.
func Start(ctx context.Context, spec *Spec) (*Fleet, error) {
	if err := spec.complete(); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	f := &Fleet{vcenters: make([]*VCenter, len(spec.VCenters))}
	g, gctx := errgroup.WithContext(ctx)
	for i := range spec.VCenters {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			v, err := newVCenter(context.WithoutCancel(ctx), &spec.VCenters[i], i)
			if err != nil {
				return fmt.Errorf("fleet: vCenter %q: %w", spec.VCenters[i].Name, err)
			}
			f.vcenters[i] = v
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// VCenters returns the vCenters in the order of the description.
func (f *Fleet) VCenters() []*VCenter { return f.vcenters }

// Names returns the names of the vCenters in the order of the description.
func (f *Fleet) Names() []string {
	names := make([]string, len(f.vcenters))
	for i, v := range f.vcenters {
		names[i] = v.Name()
	}
	return names
}

// VCenter returns the vCenter with the given name, or nil.
func (f *Fleet) VCenter(name string) *VCenter {
	for _, v := range f.vcenters {
		if v.Name() == name {
			return v
		}
	}
	return nil
}

// VMs returns the VMs of all vCenters in order, without fillers.
func (f *Fleet) VMs() []VM {
	var vms []VM
	for _, v := range f.vcenters {
		vms = append(vms, v.VMs()...)
	}
	return vms
}

// VM returns the VM with the given name. It fails unless exactly one vCenter has such a VM.
func (f *Fleet) VM(name string) (VM, error) {
	var found []VM
	for _, v := range f.vcenters {
		if m, err := v.VM(name); err == nil {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return VM{}, fmt.Errorf("fleet: no VM %q", name)
	case 1:
		return found[0], nil
	}
	return VM{}, fmt.Errorf("fleet: %d vCenters have a VM %q", len(found), name)
}

// Close stops every vCenter, cuts off hanging requests and waits for all goroutines. It may be
// called repeatedly.
func (f *Fleet) Close() {
	var g errgroup.Group
	for _, v := range f.vcenters {
		if v != nil {
			g.Go(func() error { v.server.close(); return nil })
		}
	}
	_ = g.Wait()
}

var errClosed = errors.New("the fleet is closed")
