package watch

import (
	"context"
	"time"

	"vzones/vcenter/inventory"
)

// A Publication is a snapshot, when the vCenter answered that had reported everything in it,
// and how old the names of its tags are.
type Publication struct {
	Snapshot    *inventory.Snapshot
	LastContact time.Time
	TagNames    inventory.TagNames
}

// A Reporter gets what a watch finds out. It may be called from several goroutines. No method
// blocks longer than until the context is done.
type Reporter interface {
	// Publish is called with each snapshot.
	Publish(ctx context.Context, p Publication)
	// Started is called when everything that the watch needs on the server is there.
	Started()
	// Contact is called when the vCenter has answered and the last snapshot is of then,
	// too. Probed reports whether that was asked for.
	Contact(ctx context.Context, at time.Time, probed bool)
	// TagNames is called when the names of tags in the last snapshot were read again.
	TagNames(ctx context.Context, named inventory.TagNames)
	// TagsRead is called with the outcome of each reading of tags.
	TagsRead(ctx context.Context, err error)
	// CredentialsRejected is called when the tagging API rejects the credentials.
	CredentialsRejected()
}
