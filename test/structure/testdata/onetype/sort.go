package onetype

import "slices"

func (l *list) sorted() []int {
	slices.Sort(l.items)
	return l.items[:l.length()]
}
