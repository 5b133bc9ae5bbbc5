// Package guestinfo reads a VM's configured addresses from guestinfo.metadata, where deployment
// tools store configuration for cloud-init.
//
// The text is untrusted and may contain secrets. The package bounds the time and memory for it,
// returns only addresses, never quotes the text in errors, and does not log.
package guestinfo
