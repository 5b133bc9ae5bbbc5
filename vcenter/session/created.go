package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

// createdMax bounds the objects of a session that could not be destroyed. With more
// it is given up, which destroys them.
const createdMax = 50

// createdObjects are the objects that were created on the server through a session and not
// destroyed.
type createdObjects struct {
	mu  sync.Mutex
	all []types.ManagedObjectReference
}

// Track notes a property collector or a view, right after it was created, to be destroyed by Destroy or
// DestroyAll.
func (s *Session) Track(ref types.ManagedObjectReference) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.all = append(s.created.all, ref)
}

// Created reports whether an object was created through the session and not destroyed.
func (s *Session) Created(ref types.ManagedObjectReference) bool {
	return slices.Contains(s.tracked(), ref)
}

func (s *Session) tracked() []types.ManagedObjectReference {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	return slices.Clone(s.created.all)
}

func (s *Session) untrack(ref types.ManagedObjectReference) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.all = slices.DeleteFunc(s.created.all, func(other types.ManagedObjectReference) bool { return other == ref })
}

// Destroy destroys an object that is tracked. It stays tracked if that fails.
func (s *Session) Destroy(ctx context.Context, ref types.ManagedObjectReference) (err error) {
	if ref.Type == "PropertyCollector" {
		_, err = methods.DestroyPropertyCollector(ctx, s.vim, &types.DestroyPropertyCollector{This: ref})
	} else {
		_, err = methods.DestroyView(ctx, s.vim, &types.DestroyView{This: ref})
	}
	if err != nil && !faults.Gone(err) {
		return err
	}
	s.untrack(ref)
	return nil
}

// DestroyAll destroys what was created through the session before. An object that the
// vCenter refuses to destroy is left for the next time.
func (s *Session) DestroyAll(ctx context.Context) error {
	var refused error
	for _, ref := range s.tracked() {
		err := s.Destroy(ctx, ref)
		switch {
		case err == nil:
		case faults.SessionLost(err) || !faults.FromServer(err):
			return err // the vCenter cannot be reached: what was to be destroyed says nothing about why
		default:
			refused = fmt.Errorf("destroying a %s of this session: %w", ref.Type, err)
		}
	}
	if len(s.tracked()) > createdMax {
		return &faults.SessionLostError{Err: fmt.Errorf("logging in again, since more than %d objects of the session cannot be destroyed: %w", createdMax, refused)}
	}
	return nil
}
