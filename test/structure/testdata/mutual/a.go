// Package mutual has files that use each other: a and b through a field behind an atomic pointer
// and through a function, d and e, which share a type, through what does not belong to it.
package mutual

import "sync/atomic"

type state struct{ value int }

var current atomic.Pointer[state]

func a() int { return b() }
