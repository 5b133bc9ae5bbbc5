package condition

import (
	"strings"
	"time"
)

// ReasonResolved is the reason of the Event that says that what another one said is over.
const ReasonResolved = "ProblemResolved"

// otherReason is how long after a record of a matter another reason of it is recorded: what fails
// may alternate.
const otherReason = 5 * time.Minute

// reasonOf is between the matter and the reason in a key.
const reasonOf = "\x00"

// matterOf returns what a key is about, whatever the reason.
func matterOf(key string) string {
	matter, _, _ := strings.Cut(key, reasonOf)
	return matter
}

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
	if matterOf(key) != matterOf(c.key) {
		c.since = time.Now()
	}
	c.key = key
	if c.IsRecorded(key) && time.Since(c.recordedAt) < repeat {
		return 0
	}
	left := delay - time.Since(c.since)
	if c.recorded != "" && !c.IsRecorded(key) && matterOf(c.recorded) == matterOf(key) {
		left = max(left, otherReason-time.Since(c.recordedAt))
	}
	if left > 0 {
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
