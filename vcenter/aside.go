package vcenter

import (
	"fmt"
	"runtime/debug"
)

// aside starts f in a goroutine of its own and returns a function that waits for its
// end, which ended announces by being closed. A panic of f is that of the waiting
// function: whoever started f answers for it.
func aside(f func()) (ended <-chan struct{}, wait func()) {
	done := make(chan struct{}) // closed by the goroutine
	var panicked any
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
	return done, func() {
		<-done
		if panicked != nil {
			panic(panicked)
		}
	}
}
