// Package guestinfo reads the addresses that a machine is configured with from
// its guestinfo.metadata, where deployment tools leave it for cloud-init.
//
// It owns the encodings of that text and the forms of a network configuration
// in it. The text may hold secrets: nothing of it is in an error, nothing of it
// is kept but the addresses, and nothing is logged here. It performs no I/O, and
// what it takes of hostile text, in time and in memory, is bounded.
package guestinfo
