// Package signal lets one goroutine wait until another one has changed something.
package signal

// A Signal means that something has changed, not what: the receiver reads the state itself.
// Any number of notifications before it does so count as one. Whoever changes something
// sends, one goroutine receives, and nobody closes it.
type Signal chan struct{}

// New returns a signal without a notification.
func New() Signal { return make(Signal, 1) }

// Notify wakes the receiver, now or when it next waits. It never blocks.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default: // the receiver has not received the last one yet
	}
}

// Clear drops a notification that was not received.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}
