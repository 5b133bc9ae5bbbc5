// Package panics keeps the panics of libraries from ending the process: it turns them
// into errors of the vCenter whose answer caused them, or passes them on to the
// goroutine that is responsible.
package panics
