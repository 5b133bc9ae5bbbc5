package config

// The values of index, which says what of a vCenter is watched.
const (
	// indexAll: every machine of the datacenters. It is the default.
	indexAll = "all"
	// indexFollowed: the machines of the cluster's Nodes alone.
	indexFollowed = "followed"
)

// isIndex reports whether a value of index can be used, and warns of what does not
// work as without it.
func (c *checker) isIndex(t text) bool {
	if !t.usable() {
		return !t.bad
	}
	word := c.choice(t, "is not a valid index", indexAll, indexFollowed)
	if word == indexFollowed {
		c.warnf(t.at, "the machine of a Node without a system UUID is found by its guest host name only, "+
			"and not by its own name in vCenter: use %s if such Nodes have no VMware Tools", indexAll)
	}
	return word == indexAll || word == indexFollowed
}

// indexWord returns the value of index.
func indexWord(followed bool) string {
	if followed {
		return indexFollowed
	}
	return indexAll
}
