// Package model stores the reported state of a vCenter: an index entry per VM, and the details of
// Nodes' VMs with their ancestors. It applies updates in any order and makes immutable snapshots.
package model
