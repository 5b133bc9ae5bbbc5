package nodes

import "time"

// writePause is when a Node is decided about again that is being written.
const writePause = time.Second

// writeDelay returns when to try again while a request for a Node is under way, 0 if none is.
func (c *Controller) writeDelay(s *state) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.writing {
		return writePause
	}
	return 0
}

// startWrite makes a request to the API server for a Node that has none under way, and calls
// done when it has ended and the next one can be made. It runs beside the goroutine that
// decides, so that a slow API server keeps no Node from being announced.
func (c *Controller) startWrite(s *state, request, done func()) {
	c.setWriting(s, true)
	c.writes.Go(func() {
		request()
		c.setWriting(s, false)
		done()
	})
}

func (c *Controller) setWriting(s *state, writing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.writing = writing
}
