// Package fields has a struct of which too many fields change, in each way that a field can.
package fields

import "sync/atomic"

type many struct {
	a int
	b int
	c int
	d int
	e int
	f int
	g int
	h int
	i int
	j int
	k int
	l int
	m int
	n struct{ inner int }
	o map[string]int
	p atomic.Int64
}

func (x *many) change() {
	x.a = 1
	x.b = 1
	x.c = 1
	x.d = 1
	x.e = 1
	x.f = 1
	x.g = 1
	x.h = 1
	x.i = 1
	x.j = 1
	x.k = 1
	x.l++
	for x.m = range 2 {
	}
	x.n.inner = 1
	x.o["key"] = 1
	x.p.Add(1)
}
