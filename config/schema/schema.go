// Package schema describes the fields of a configuration and holds what a file says, before
// anything is checked, inherited or filled in. Every format is read into it; keys are the
// YAML format's, from which those of the INI format follow. It says nothing of what values
// mean: that is the concern of package validate.
package schema

import (
	"slices"

	"vzones/config/problem"
)

// File is what a configuration says.
type File struct {
	Global     Section
	VCenters   []*Section
	VCentersAt problem.Position
	// Broken reports whether there are entries that could not be read.
	Broken bool

	Region, Zone Rule
	// Categories and CategoryLabels are the CSI driver's way to say where labels
	// come from.
	Categories     List
	CategoryLabels []*CategoryLabel
	Topology       Placement
	Nodes          Nodes
}

// CategoryLabel is what the CSI driver's file says of one tag category.
type CategoryLabel struct {
	Name  string
	At    problem.Position
	Label Text
}

// Section is the global section or one vCenter's entry.
type Section struct {
	Name string
	At   problem.Position

	User, Server                Text
	Password                    Secret
	Port, RoundTrips            Number
	Insecure                    Toggle
	Datacenters, IPFamilies     List
	CAFile, CAData, Thumbprint  Text
	SecretName, SecretNamespace Text
	SecretsDirectory            Text // of the global section alone
	// Session is where a session manager stands, if one does.
	Session problem.Position
	// Apart reports whether the section's account is not for the entries, since the file names
	// one place besides where theirs are. The environment has no part in that.
	Apart bool
	// Unsure reports whether the section holds more than could be read, perhaps
	// the credentials.
	Unsure bool
}

// Nodes is the nodes section.
type Nodes struct {
	InternalSubnets, ExternalSubnets               Text
	InternalNetwork, ExternalNetwork               Text
	ExcludeInternalSubnets, ExcludeExternalSubnets Text
	Networks, ExcludeNetworks                      List
	Selector                                       Text
	Labels                                         Table
	SkipDeletion, MatchByName                      Toggle
}

// Rule is where a label's value comes from.
type Rule struct {
	At problem.Position
	// These are the sources, of which a rule has one: see sources.
	Tag, Inventory, HostGroup Text
	// Value is how the label's value is made of several sources.
	Value    Text
	Required Toggle
	// Short reports whether the rule is the name of a tag category alone, and no mapping.
	Short bool
	// Bad reports whether the mapping could not be read.
	Bad bool
}

// SourceField is a field of a rule that says where the value comes from, and its name.
type SourceField struct {
	Name string
	*Text
}

// Sources returns those that are set.
func (r *Rule) Sources() []SourceField {
	all := []SourceField{{"tag", &r.Tag}, {"inventory", &r.Inventory}, {"hostGroup", &r.HostGroup}}
	return slices.DeleteFunc(all, func(s SourceField) bool { return !s.Set })
}

// Placement is the topology section.
type Placement struct {
	Precedence, Drift, Settle Text
	Paths                     List
	Levels                    []*Level
	Backfill                  Toggle
}

// Level is the rule of a further label.
type Level struct {
	Label  Text
	Nested Toggle
	Rule
}
