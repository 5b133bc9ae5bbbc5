package faults

import "fmt"

// Go starts f in a goroutine of its own and returns a function that waits for its
// end. The goroutine closes ended. A panic of f becomes that of the waiting
// function: whoever started f is responsible for it.
func Go(f func()) (ended <-chan struct{}, wait func()) {
	done := make(chan struct{}) // closed by the goroutine
	var panicked any
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n%s", p, stack())
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
