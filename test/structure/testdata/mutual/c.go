package mutual

// c uses both, and neither uses it back.
func c() int { return a() + b() }
