package cli

import (
	"fmt"
	"sync"
	"time"
)

// progressDelay is how long something may take before a line says what it is.
const progressDelay = 2 * time.Second

// Progress says on standard error what is going on, if that is a terminal and it takes longer than
// two seconds. A pipe or a file would keep the line, and its content would depend on how fast a vCenter
// is. The function that it returns has to be called at the end, before anything else is printed.
func (t *Tool) Progress(what string) (end func()) {
	if !isTerminal(t.Stderr) {
		return func() {}
	}
	var mu sync.Mutex
	shown, ended := false, false
	timer := time.AfterFunc(progressDelay, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			shown = true
			fmt.Fprintf(t.Stderr, "%s …", what)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if shown && !ended {
			fmt.Fprint(t.Stderr, "\r\x1b[K")
		}
		ended = true
	}
}
