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

// A Session is what a watch needs of a session with its vCenter; *session.Session is one.
type Session interface {
	// Client returns the SOAP client, LongPoll one for calls that may take as long as
	// timeout.
	Client() *vim25.Client
	LongPoll(timeout time.Duration) *vim25.Client
	Retrieve(ctx context.Context, spec types.PropertyFilterSpec, each func(*types.ObjectContent)) error
	Ping(ctx context.Context) error

	// Track notes an object that was created on the server; Destroy and DestroyAll
	// destroy such objects.
	Track(ref types.ManagedObjectReference)
	Created(ref types.ManagedObjectReference) bool
	Destroy(ctx context.Context, ref types.ManagedObjectReference) error
	DestroyAll(ctx context.Context) error
	// Classify returns an error as a faults.SessionLostError if the vCenter does not know
	// an object that was created through the session.
	Classify(err error) error
}

// A TagReader reads tags through the session; *tags.Reader is one.
type TagReader interface {
	// Read reads the tags of objects. An error is in the result.
	Read(ctx context.Context, q tags.Query) tags.Attachments
	// Wait waits for a login that is under way.
	Wait() error
}

// machinesPerRequest bounds the list of objects in a request.
const machinesPerRequest = 1000

// ReadMachines reads machines and everything above them into a tree, with what is wanted of
// hosts.
func ReadMachines(ctx context.Context, s Session, machines []types.ManagedObjectReference, hosts model.HostFacts, into *model.Tree) error {
	for some := range slices.Chunk(machines, machinesPerRequest) {
		if err := s.Retrieve(ctx, model.MachineSpec(some, hosts), into.Add); err != nil {
			return err
		}
		if err := into.Err(); err != nil {
			return err
		}
	}
	return nil
}

// answeredWithFault reports whether the vCenter answered with a fault, and the session is
// not lost.
func answeredWithFault(s Session, err error) bool {
	return faults.FromServer(err) && !faults.SessionLost(s.Classify(err))
}

// goneOrDenied reports whether an object cannot be read that may have been there before.
func goneOrDenied(err error) bool { return faults.Gone(err) || faults.Denied(err) }
