package vcentertest

import (
	"slices"
	"sync"
	"time"
)

// A Counter is an Observer that counts calls and logins.
type Counter struct {
	mu     sync.Mutex
	calls  map[string]int
	logins []error
}

// Requested counts a call.
func (c *Counter) Requested(_, call string, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[call]++
}

// LoggedIn records the result of a login.
func (c *Counter) LoggedIn(_ string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins = append(c.logins, err)
}

// WatchStarted does nothing.
func (*Counter) WatchStarted(string) {}

// Count returns the number of calls with a name.
func (c *Counter) Count(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[call]
}

// Logins returns the results of all logins in order.
func (c *Counter) Logins() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logins)
}
