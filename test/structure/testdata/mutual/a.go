// Package mutual has two files that use each other, through a field behind an atomic pointer and
// through a function.
package mutual

import "sync/atomic"

type state struct{ value int }

var current atomic.Pointer[state]

func a() int { return b() }
