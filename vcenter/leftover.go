package vcenter

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// leftoversMax bounds the objects of a session that could not be destroyed. With more
// it is given up, which destroys them.
const leftoversMax = 50

// leftovers are the objects that a session has made on the server and not destroyed.
type leftovers struct {
	mu  sync.Mutex
	all []leftover
}

// leftover is one of them, and what destroys it.
type leftover struct {
	ref     types.ManagedObjectReference
	destroy destroyer
}

type destroyer func(context.Context, *session, types.ManagedObjectReference) error

func destroyView(ctx context.Context, s *session, ref types.ManagedObjectReference) error {
	_, err := methods.DestroyView(ctx, s.vim, &types.DestroyView{This: ref})
	return err
}

func destroyCollector(ctx context.Context, s *session, ref types.ManagedObjectReference) error {
	_, err := methods.DestroyPropertyCollector(ctx, s.vim, &types.DestroyPropertyCollector{This: ref})
	return err
}

func destroyEvents(ctx context.Context, s *session, ref types.ManagedObjectReference) error {
	_, err := methods.DestroyCollector(ctx, s.vim, &types.DestroyCollector{This: ref})
	return err
}

// leave notes an object, right after it was made, to be destroyed by discard or clean.
func (s *session) leave(ref types.ManagedObjectReference, d destroyer) {
	s.leftovers.mu.Lock()
	defer s.leftovers.mu.Unlock()
	s.leftovers.all = append(s.leftovers.all, leftover{ref, d})
}

// made reports whether the session has made an object and not destroyed it.
func (s *session) made(ref types.ManagedObjectReference) bool {
	return slices.ContainsFunc(s.left(), func(l leftover) bool { return l.ref == ref })
}

func (s *session) left() []leftover {
	s.leftovers.mu.Lock()
	defer s.leftovers.mu.Unlock()
	return slices.Clone(s.leftovers.all)
}

func (s *session) forget(ref types.ManagedObjectReference) {
	s.leftovers.mu.Lock()
	defer s.leftovers.mu.Unlock()
	s.leftovers.all = slices.DeleteFunc(s.leftovers.all, func(l leftover) bool { return l.ref == ref })
}

// discard destroys an object that leave has noted. It stays noted if that fails.
func (s *session) discard(ctx context.Context, l leftover) error {
	if err := l.destroy(ctx, s, l.ref); err != nil && !gone(err) {
		return err
	}
	s.forget(l.ref)
	return nil
}

// clean destroys what an earlier watch of the session has left. An object that the
// vCenter refuses to destroy is left for the next time, and stands in nobody's way.
func (s *session) clean(ctx context.Context) error {
	var refused error
	for _, l := range s.left() {
		err := s.discard(ctx, l)
		switch {
		case err == nil:
		case lost(err) || !isFault(err):
			return fmt.Errorf("destroying a %s of this session: %w", l.ref.Type, err)
		default:
			refused = fmt.Errorf("destroying a %s of this session: %w", l.ref.Type, err)
		}
	}
	if len(s.left()) > leftoversMax {
		return lostError{fmt.Errorf("logging in again, since more than %d objects of the session cannot be destroyed: %w", leftoversMax, refused)}
	}
	return nil
}

// isFault reports whether the server has answered, with a fault.
func isFault(err error) bool {
	for ; err != nil; err = unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

func unwrap(err error) error {
	u, ok := err.(interface{ Unwrap() error })
	if !ok {
		return nil
	}
	return u.Unwrap()
}
