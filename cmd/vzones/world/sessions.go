package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

// cleanupTimeout limits the removal of a view and the logout of a REST session, which happen even
// after cancellation.
const cleanupTimeout = 3 * time.Second

// ReadEach calls read concurrently for each vCenter, with the vCenter's index and a REST session of its own. The errors
// are of the login, or about an answer that made read panic.
func ReadEach(ctx context.Context, sessions []vcenter.OpenSession, doing string, read func(context.Context, int, *session.REST)) []error {
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, open := range sessions {
		wg.Go(func() {
			if errs[i] = open.Err; errs[i] == nil {
				errs[i] = new(faults.Guard).Run(ctx, doing, func() error {
					withREST(ctx, open, func(ctx context.Context, rest *session.REST) { read(ctx, i, rest) })
					return nil
				})
			}
		})
	}
	wg.Wait()
	return errs
}

func withREST(ctx context.Context, open vcenter.OpenSession, read func(context.Context, *session.REST)) {
	rest := open.Session.NewREST() // The watch uses the REST session that belongs to this SOAP session.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if err := rest.Close(ctx); err != nil {
			klog.FromContext(ctx).Error(faults.Printable{Err: err}, "Logout failed; the session ends after its idle timeout", "vCenter", open.VCenter)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	// This ends a login that is still running.
	defer cancel()
	read(ctx, rest)
}

// ContainerView returns a view of all objects of some types, and a function that destroys it.
func ContainerView(ctx context.Context, s *session.Session, kinds []string) (view types.ManagedObjectReference, destroy func(), err error) {
	client := s.Client()
	res, err := methods.CreateContainerView(ctx, client, &types.CreateContainerView{
		This: *client.ServiceContent.ViewManager, Container: client.ServiceContent.RootFolder, Type: kinds, Recursive: true,
	})
	if err != nil {
		return view, nil, fmt.Errorf("creating a container view: %w", err)
	}
	s.Track(res.Returnval)
	return res.Returnval, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		// If this fails, the view ends with the session.
		_ = s.Destroy(ctx, res.Returnval)
	}, nil
}
