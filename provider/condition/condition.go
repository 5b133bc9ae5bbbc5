package condition

import "time"

// A Condition is what is wrong with a Node, and since when. The zero value is that nothing
// is.
type Condition struct {
	key   string
	since time.Time
	// recorded is the key of what the last Event said.
	recorded string
}

// Observe notes the condition with a key, and calls record once if it has lasted for long
// enough. Record returns how long it has to wait, 0 if it has recorded the condition.
// Observe returns when it has to be called again, 0 if nothing is to be recorded.
func (c *Condition) Observe(key string, delay time.Duration, record func() time.Duration) time.Duration {
	if key != c.key {
		c.key, c.since = key, time.Now()
	}
	if c.key == c.recorded {
		return 0
	}
	if left := delay - time.Since(c.since); left > 0 {
		return left
	}
	if left := record(); left > 0 {
		return left
	}
	c.recorded = c.key
	return 0
}

// Clear notes that nothing is wrong.
func (c *Condition) Clear() { *c = Condition{} }
