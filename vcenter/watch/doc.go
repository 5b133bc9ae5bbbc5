// Package watch keeps a model of one vCenter up to date through the property collector, and
// publishes an immutable snapshot after each change.
//
// A [Watch] runs once, on a session that is logged in. It takes requests from an [Inbox], passes
// its results to a [Reporter], and leaves a [Memory] to the next watch of the same vCenter. It never
// logs in, restarts itself or writes to the inventory.
//
// The model goroutine owns the model. Further goroutines poll for changes, read tags and probe the
// vCenter, and exchange messages with it.
//
//	phase    state                                  next     transition
//	loading  the index is incomplete                syncing  last page of the first change
//	syncing  details or tags are missing            ready    none is missing, or 5 s are over
//	ready    each change is published               –
//
// An error ends the watch in any phase; a [Restart] means that nothing failed. A change may have
// several pages, and nothing is published before the last page.
//
// After a change of VMs without a Node, polling pauses, so that other tenants do not decide how
// often the vCenter is polled. A new interest ends the pause, and applies after the next poll. An alarm
// with its own collector ends it when the VM of a Node changes.
package watch
