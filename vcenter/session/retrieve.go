package session

import (
	"context"
	"errors"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

const pageSize = 1000

// Retrieve reads properties page by page and calls visit once for each object.
func (s *Session) Retrieve(ctx context.Context, spec types.PropertyFilterSpec, visit func(*types.ObjectContent)) error {
	seen := make(map[types.ManagedObjectReference]bool)
	size := int32(pageSize)
	if len(spec.ObjectSet) == 1 && len(spec.ObjectSet[0].SelectSet) == 0 {
		size = 1
	}
	for ; ; size /= 10 {
		if err := s.retrieve(ctx, spec, size, seen, visit); size == 1 || !errors.Is(err, LargeAnswer) {
			return err
		}
	}
}

func (s *Session) retrieve(ctx context.Context, spec types.PropertyFilterSpec, size int32, seen map[types.ManagedObjectReference]bool, visit func(*types.ObjectContent)) error {
	if s.unpaged.Load() {
		return s.retrieveAtOnce(ctx, spec, size, seen, visit)
	}
	collector := s.vim.ServiceContent.PropertyCollector
	res, err := methods.RetrievePropertiesEx(ctx, s.vim, &types.RetrievePropertiesEx{
		This:    collector,
		SpecSet: []types.PropertyFilterSpec{spec},
		Options: types.RetrieveOptions{MaxObjects: size},
	})
	if err != nil {
		return err
	}
	page := res.Returnval
	for pages := 0; page != nil; pages++ {
		if pages == faults.MaxVMs {
			return faults.ManyObjects // pages without objects may continue forever
		}
		if err := visitNew(page.Objects, seen, visit); err != nil {
			return err
		}
		if page.Token == "" {
			return nil
		}
		next, err := methods.ContinueRetrievePropertiesEx(ctx, s.vim, &types.ContinueRetrievePropertiesEx{
			This:  collector,
			Token: page.Token,
		})
		if faults.Denied(err) {
			s.unpaged.Store(true)
			return s.retrieveAtOnce(ctx, spec, size, seen, visit)
		}
		if err != nil {
			return err
		}
		page = &next.Returnval
	}
	return nil
}

// retrieveAtOnce requests no pages, because some vCenters (7.0.3.2 to 8.0.2) require System.Read on the root folder
// for further pages.
func (s *Session) retrieveAtOnce(ctx context.Context, spec types.PropertyFilterSpec, size int32, seen map[types.ManagedObjectReference]bool, visit func(*types.ObjectContent)) error {
	for chunk := range slices.Chunk(spec.ObjectSet, int(size)) {
		spec.ObjectSet = chunk
		res, err := methods.RetrieveProperties(ctx, s.vim, &types.RetrieveProperties{
			This:    s.vim.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{spec},
		})
		if err != nil {
			return err
		}
		if err := visitNew(res.Returnval, seen, visit); err != nil {
			return err
		}
	}
	return nil
}

func visitNew(objects []types.ObjectContent, seen map[types.ManagedObjectReference]bool, visit func(*types.ObjectContent)) error {
	for i := range objects {
		if err := faults.CheckRef(objects[i].Obj); err != nil {
			return err
		}
		if err := faults.InProperties(objects[i].MissingSet); err != nil {
			return err
		}
		if !seen[objects[i].Obj] {
			if len(seen) == faults.MaxVMs {
				return faults.ManyObjects
			}
			seen[objects[i].Obj] = true
			visit(&objects[i])
		}
	}
	return nil
}
