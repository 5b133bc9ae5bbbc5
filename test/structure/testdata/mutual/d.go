package mutual

type list struct{ items []int }

func (l *list) first() int { return l.at(zero) }

func length(l *list) int { return len(l.items) }
