// Package faults decides what the errors of a vCenter mean: an object that is gone,
// an account that lacks a privilege, a session that is lost. It also makes errors
// printable, and keeps the panics of libraries from ending the process: it turns them
// into errors of the vCenter whose answer caused them, or passes them on to the
// goroutine that is responsible. It makes no requests and knows no session.
package faults
