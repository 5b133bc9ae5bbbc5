// Package watch follows the changes of one vCenter: it owns the property collector, the
// filters and views on the server, and the model of what they report, and publishes an
// immutable snapshot after each change.
//
// A [Watch] is built from a session, an [Inbox] that says whose machines' details are
// wanted, and a [Reporter] that gets snapshots and what else it finds out. It knows
// neither who runs it nor what becomes of the snapshots. It never logs in, never decides
// when to begin again, and never writes to the inventory. What one watch leaves to the next
// one of the same vCenter is its [Memory].
//
// One goroutine owns the model; others wait for changes, read tags, and
// probe, and exchange messages with it. They end together, with the first error. The phases
// of a watch are:
//
//	phase    what holds                              next     when
//	loading  the index has not come in whole         syncing  the last page of the first change is there
//	syncing  what the first snapshot has is waited   ready    everything is there; or 5 s are over
//	         for: details, tags
//	ready    a snapshot is published after each      –
//	         change that is there with all its pages
//
// A change that concerns only VMs without a Node is followed by a rest, since others decide how often that happens. During
// the rest the model is behind: the watch takes up no other interest, and an alarm, with a collector of its own for the
// VMs of Nodes, ends the rest when one of them changes.
//
// In each phase an error ends the watch; a [Restart] is one that says that nothing is wrong.
// While a change is partial, since further pages of it are to come, nothing is published.
package watch
