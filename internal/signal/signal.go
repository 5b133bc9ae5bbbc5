// Package signal wakes a goroutine after a change.
package signal

// A Signal means that something has changed. Notifications before a receive are merged. There is one
// receiver and any number of senders, and the channel is never closed.
type Signal chan struct{}

// New returns a signal without a notification.
func New() Signal { return make(Signal, 1) }

// Notify wakes the receiver. It never blocks.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Clear drops a pending notification.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}
