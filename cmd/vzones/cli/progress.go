package cli

import (
	"fmt"
	"sync"
	"time"
)

// progressDelay is how long something may take before a line says what it is.
const progressDelay = time.Second

// Progress says on standard error what is going on, if it takes longer than a second. The function
// that it returns has to be called at the end, before anything else is printed.
func (t *Tool) Progress(what string) (end func()) {
	var mu sync.Mutex
	shown, ended := false, false
	terminal := isTerminal(t.Stderr)
	timer := time.AfterFunc(progressDelay, func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		shown = true
		if terminal {
			fmt.Fprintf(t.Stderr, "%s …", what)
		} else {
			fmt.Fprintf(t.Stderr, "%s …\n", what)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if shown && terminal && !ended {
			fmt.Fprint(t.Stderr, "\r\x1b[K")
		}
		ended = true
	}
}
