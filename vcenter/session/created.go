package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25"
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
	all []createdObject
}

// A createdObject is one of them, and what destroys it.
type createdObject struct {
	ref     types.ManagedObjectReference
	destroy Destroyer
}

// A Destroyer destroys an object of one kind on the server.
type Destroyer func(context.Context, *vim25.Client, types.ManagedObjectReference) error

// DestroyView is the Destroyer of views.
func DestroyView(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) error {
	_, err := methods.DestroyView(ctx, c, &types.DestroyView{This: ref})
	return err
}

// DestroyPropertyCollector is the Destroyer of property collectors.
func DestroyPropertyCollector(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) error {
	_, err := methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: ref})
	return err
}

// Track notes an object, right after it was created, to be destroyed by Destroy or
// DestroyAll.
func (s *Session) Track(ref types.ManagedObjectReference, d Destroyer) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.all = append(s.created.all, createdObject{ref, d})
}

// Created reports whether an object was created through the session and not destroyed.
func (s *Session) Created(ref types.ManagedObjectReference) bool {
	return slices.ContainsFunc(s.tracked(), func(o createdObject) bool { return o.ref == ref })
}

func (s *Session) tracked() []createdObject {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	return slices.Clone(s.created.all)
}

func (s *Session) untrack(ref types.ManagedObjectReference) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.all = slices.DeleteFunc(s.created.all, func(o createdObject) bool { return o.ref == ref })
}

// Destroy destroys an object that is tracked. It stays tracked if that fails.
func (s *Session) Destroy(ctx context.Context, ref types.ManagedObjectReference) error {
	for _, o := range s.tracked() {
		if o.ref == ref {
			return s.destroy(ctx, o)
		}
	}
	return nil
}

func (s *Session) destroy(ctx context.Context, o createdObject) error {
	if err := o.destroy(ctx, s.vim, o.ref); err != nil && !faults.Gone(err) {
		return err
	}
	s.untrack(o.ref)
	return nil
}

// DestroyAll destroys what was created through the session before. An object that the
// vCenter refuses to destroy is left for the next time.
func (s *Session) DestroyAll(ctx context.Context) error {
	var refused error
	for _, o := range s.tracked() {
		err := s.destroy(ctx, o)
		switch {
		case err == nil:
		case faults.SessionLost(err) || !faults.FromServer(err):
			return err // the vCenter cannot be reached: what was to be destroyed says nothing about why
		default:
			refused = fmt.Errorf("destroying a %s of this session: %w", o.ref.Type, err)
		}
	}
	if len(s.tracked()) > createdMax {
		return &faults.SessionLostError{Err: fmt.Errorf("logging in again, since more than %d objects of the session cannot be destroyed: %w", createdMax, refused)}
	}
	return nil
}
