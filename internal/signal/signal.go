// Package signal wakes a goroutine after a change.
package signal

// A Signal means that something has changed: the receiver reads the state itself. Notifications before
// a receive are merged. There is one receiver, any number of senders, and the channel is never closed.
type Signal chan struct{}

// New returns a signal without a pending notification.
func New() Signal { return make(Signal, 1) }

// Notify wakes the receiver, now or when it next receives. It never blocks.
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
