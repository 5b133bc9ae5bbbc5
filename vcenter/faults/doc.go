// Package faults decides what the errors of a vCenter mean: an object that is gone,
// an account that lacks a privilege, a session that is lost. It also makes errors
// printable. It makes no requests and knows no session.
package faults
