// Package model is what a vCenter has reported since a watch began: an index entry for
// each machine, and in full the machines of Nodes with everything above them.
//
// It applies property updates in whatever order they come, and makes immutable
// snapshots of them. It makes no requests and starts no goroutine. A Model belongs to one goroutine.
package model
