// Package validate makes a configuration of what a file says, wherever its fields came from,
// or finds all that is wrong with it. It reads the CA files that the configuration names, through
// the function that it is given, and nothing else.
package validate

import (
	"vzones/config"
	"vzones/config/problem"
	"vzones/config/schema"
)

// validate makes a Config of what a file says. It is to be used only if
// problems has no errors afterwards.
func (c *checker) validate(s *schema.File) *config.Config {
	schema.Check(s.Fields(), c.List)
	fleet := c.fleet(s)
	return &config.Config{
		File:      c.File,
		Files:     c.files,
		VCenters:  fleet,
		Topology:  c.topology(s, fleet),
		Addresses: c.addresses(s.Nodes),

		NodeSelector:     c.selector(s.Nodes.Selector),
		NodeLabels:       c.nodeLabels(s.Nodes.Labels, s.Topology.Levels),
		SkipNodeDeletion: schema.Otherwise(s.Nodes.SkipDeletion, false),
		MatchByName:      schema.Otherwise(s.Nodes.MatchByName, true),
	}
}

// File makes a Config of what a file says, and returns what its vCenters were made
// of, in the same order. Both are to be used only if p has no errors afterwards. The CA files
// that it names are read by read, or not at all if that is nil.
func File(s *schema.File, p *problem.List, read Reader) (*config.Config, []Settings) {
	c := &checker{List: p, read: read}
	return c.validate(s), c.inherited
}
