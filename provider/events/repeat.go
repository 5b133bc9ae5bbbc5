package events

import (
	"hash/fnv"
	"time"
)

const (
	// repeatMin and repeatMax bound the time after which an Event is recorded again while it
	// holds. API servers forget an Event an hour after it was written last, by default.
	repeatMin, repeatMax = 50 * time.Minute, 55 * time.Minute
	// mostCorrelated is of how many Events the recorder knows that it has recorded them, so that
	// another one of the same text is counted in the same object. It is more than the Nodes of
	// a cluster.
	mostCorrelated = 16384
)

// RepeatAfter returns the time after which an Event about something is recorded again while it
// holds: 50 to 55 minutes, always the same for the same thing, so that Events about thousands of
// Nodes are not written all at once.
func RepeatAfter(about string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(about)) // a hash takes everything
	return repeatMin + time.Duration(h.Sum64()%uint64(repeatMax-repeatMin))
}
