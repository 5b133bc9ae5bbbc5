// Package onetype has one type in two files.
package onetype

type list struct{ items []int }

func (l *list) length() int { return len(l.sorted()) }
