package mutual

func b() int { return current.Load().value }
