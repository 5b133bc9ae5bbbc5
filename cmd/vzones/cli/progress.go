package cli

import (
	"fmt"
	"time"
)

// progressDelay is how long something may take before a line says what it is.
const progressDelay = 2 * time.Second

// Progress says on standard error what is going on, if that is a terminal and it takes longer than
// two seconds. In a pipe or a file it would depend on how fast a vCenter is. The caller calls end before it prints
// anything else.
func (t *Tool) Progress(what string) (end func() bool) {
	return time.AfterFunc(progressDelay, func() {
		if isTerminal(t.Stderr) {
			fmt.Fprintln(t.Stderr, what+" …")
		}
	}).Stop
}
