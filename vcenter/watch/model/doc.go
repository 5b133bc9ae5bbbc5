// Package model stores what a vCenter reports to a watch: an index entry per VM, and the details
// of Nodes' VMs with their ancestors. It applies updates in any order and makes immutable
// snapshots. It makes no requests and starts no goroutine.
package model
