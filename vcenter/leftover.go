package vcenter

import (
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// leftover is an object that a session has made on the server, and what
// destroys it.
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

// leave notes an object to be destroyed by clean.
func (s *session) leave(ref types.ManagedObjectReference, d destroyer) {
	s.leftovers = append(s.leftovers, leftover{ref, d})
}

// clean destroys what an earlier watch of the session has left.
func (s *session) clean(ctx context.Context) error {
	for len(s.leftovers) > 0 {
		l := s.leftovers[0]
		if err := l.destroy(ctx, s, l.ref); err != nil && !gone(err) {
			return err
		}
		s.leftovers = s.leftovers[1:]
	}
	return nil
}
