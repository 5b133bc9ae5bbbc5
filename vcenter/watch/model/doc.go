// Package model holds what a vCenter has reported since a watch began: an index entry per VM, and
// the details of Nodes' VMs with their ancestors.
//
// It applies property updates in any order and makes immutable snapshots. It makes no requests and
// starts no goroutine.
package model
