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

// maxUndestroyable is the number of objects above which the session is replaced, because its end destroys them.
const maxUndestroyable = 50

type createdObjects struct {
	mu   sync.Mutex
	refs []types.ManagedObjectReference
}

// Track registers a new property collector or view for Destroy and DestroyAll.
func (s *Session) Track(ref types.ManagedObjectReference) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.refs = append(s.created.refs, ref)
}

// IsTracked reports whether ref is tracked.
func (s *Session) IsTracked(ref types.ManagedObjectReference) bool {
	return slices.Contains(s.tracked(), ref)
}

func (s *Session) tracked() []types.ManagedObjectReference {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	return slices.Clone(s.created.refs)
}

func (s *Session) untrack(ref types.ManagedObjectReference) {
	s.created.mu.Lock()
	defer s.created.mu.Unlock()
	s.created.refs = slices.DeleteFunc(s.created.refs, func(other types.ManagedObjectReference) bool { return other == ref })
}

// Destroy destroys a tracked object, which stays tracked on an error.
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

// DestroyAll destroys all tracked objects.
func (s *Session) DestroyAll(ctx context.Context) error {
	var failed error
	for _, ref := range s.tracked() {
		err := s.Destroy(ctx, ref)
		switch {
		case err == nil:
		case faults.SessionLost(err) || !faults.FromServer(err):
			return err
		default:
			failed = fmt.Errorf("destroying a %s of this session: %w", ref.Type, err)
		}
	}
	if len(s.tracked()) > maxUndestroyable {
		return &faults.SessionLostError{Err: fmt.Errorf("logging in again: more than %d objects of the session cannot be destroyed: %w", maxUndestroyable, failed)}
	}
	return nil
}
