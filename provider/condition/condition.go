package condition

import "time"

// ReasonResolved is the reason of the Event that says that what another one said is over.
const ReasonResolved = "ProblemResolved"

// A Condition is what is wrong with a Node, and since when. The zero value is that nothing
// is.
type Condition struct {
	key   string
	since time.Time
	// recorded is the key of what the last Event said, empty if there was none or one has said
	// that it is over. RecordedAt is when that was.
	recorded   string
	recordedAt time.Time
}

// Observe notes the condition with a key, and calls record if it has lasted for long enough, and
// again whenever it has lasted for the time repeat since then. Record returns how long it has to
// wait, 0 if it has recorded the condition. Observe returns when it has to be called sooner than
// after a minute, 0 if it does not.
func (c *Condition) Observe(key string, delay, repeat time.Duration, record func() time.Duration) time.Duration {
	if key != c.key {
		c.key, c.since = key, time.Now()
	}
	if c.IsRecorded(key) && time.Since(c.recordedAt) < repeat {
		return 0
	}
	if left := delay - time.Since(c.since); left > 0 {
		return left
	}
	if left := record(); left > 0 {
		return left
	}
	c.recorded, c.recordedAt = c.key, time.Now()
	return 0
}

// IsRecorded reports whether the last Event says what this key stands for.
func (c *Condition) IsRecorded(key string) bool { return key != "" && key == c.recorded }

// End notes that nothing is wrong, and calls record if the last Event says that something is.
// Record returns how long it has to wait, and so does End: what begins again before that has
// not ended.
func (c *Condition) End(record func() time.Duration) time.Duration {
	c.key = ""
	if c.recorded != "" {
		if left := record(); left > 0 {
			return left
		}
	}
	c.Clear()
	return 0
}

// Clear forgets what was wrong, without a word.
func (c *Condition) Clear() { *c = Condition{} }
