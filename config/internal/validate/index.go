package validate

import "vzones/config/internal/schema"

// The values of index, which says what of a vCenter is watched.
const (
	// IndexAll: every machine of the datacenters. It is the default.
	IndexAll = "all"
	// IndexFollowed: the machines of the cluster's Nodes alone.
	IndexFollowed = "followed"
)

// isIndex reports whether a value of index can be used, and warns of what does not
// work as without it.
func (c *checker) isIndex(t schema.Text) bool {
	if !t.Usable() {
		return !t.Bad
	}
	word := c.choice(t, "is not a valid index", IndexAll, IndexFollowed)
	if word == IndexFollowed {
		c.Warnf(t.At, "the machine of a Node without a system UUID is found by its guest host name only, "+
			"and not by its own name in vCenter: use %s if such Nodes have no VMware Tools", IndexAll)
	}
	return word == IndexAll || word == IndexFollowed
}

// IndexWord returns the value of index.
func IndexWord(followed bool) string {
	if followed {
		return IndexFollowed
	}
	return IndexAll
}
