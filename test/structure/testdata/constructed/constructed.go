// Package constructed has a struct with many fields, of which a constructor sets all and a method
// changes 15.
package constructed

import "sync/atomic"

type settled struct {
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

func newSettled() (*settled, error) {
	x := &settled{o: map[string]int{}}
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
	x.l = 1
	x.m = 1
	x.n.inner = 1
	x.o["key"] = 1
	x.p.Store(1)
	return x, nil
}

func (x *settled) change() {
	x.a++
	x.b++
	x.c++
	x.d++
	x.e++
	x.f++
	x.g++
	x.h++
	x.i++
	x.j++
	x.k++
	x.l++
	x.m++
	x.n.inner++
	delete(x.o, "key")
}

// remade has a constructor in a variable, which may set the 16th field too.
func remade() {
	with := func(x settled) settled {
		x.p.Store(1)
		return x
	}
	_ = with
}
