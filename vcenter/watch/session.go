package watch

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

// A Session is the subset of *session.Session that a watch uses.
type Session interface {
	Client() *vim25.Client
	LongPoll(timeout time.Duration) *vim25.Client
	Retrieve(ctx context.Context, spec types.PropertyFilterSpec, each func(*types.ObjectContent)) error
	Ping(ctx context.Context) error

	// Track records an object created on the server, for Destroy and DestroyAll.
	Track(ref types.ManagedObjectReference)
	IsTracked(ref types.ManagedObjectReference) bool
	Destroy(ctx context.Context, ref types.ManagedObjectReference) error
	DestroyAll(ctx context.Context) error
	// Classify returns a faults.SessionLostError if an object that the session created is gone.
	Classify(err error) error
}

// A TagReader reads tags; *tags.Reader implements it.
type TagReader interface {
	// Read returns errors in its result.
	Read(ctx context.Context, q tags.Query) tags.Attachments
	Wait() error
}

const vmsPerRequest = 1000

// ReadVMs reads VMs and their ancestors into a tree.
func ReadVMs(ctx context.Context, s Session, vms []types.ManagedObjectReference, hosts model.HostFacts, into *model.Tree) error {
	for chunk := range slices.Chunk(vms, vmsPerRequest) {
		if err := s.Retrieve(ctx, model.VMSpec(chunk, hosts), into.Add); err != nil {
			return err
		}
		if err := into.Err(); err != nil {
			return err
		}
	}
	return nil
}

// answeredWithFault reports whether the server answered with a fault other than a lost session.
func answeredWithFault(s Session, err error) bool {
	return faults.FromServer(err) && !faults.SessionLost(s.Classify(err))
}

func goneOrDenied(err error) bool { return faults.Gone(err) || faults.Denied(err) }
