package mutual

const zero = 0

// at belongs to the same type, and length does not.
func (l *list) at(i int) int { return l.items[i%length(l)] }
