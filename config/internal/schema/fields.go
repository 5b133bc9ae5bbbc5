package schema

import "vzones/config/internal/problem"

// A Field is one key of a mapping and where its value goes: a pointer to a
// value, or one of the types below.
type Field struct {
	Name string
	Into any
}

type (
	// Group is a mapping with known keys; unsure, if there is one, is set if
	// the mapping is there and cannot be read.
	Group struct {
		Fields []Field
		Unsure *bool
	}
	// Entries is a mapping whose keys are names; the function makes room for
	// the entry of a name and returns its fields.
	Entries struct {
		At     *problem.Position
		Broken *bool
		Add    func(name string, at problem.Position) []Field
	}
	// Elements is a list of mappings; the function makes room for one and returns
	// its fields.
	Elements struct {
		Add func(at problem.Position) []Field
	}
	// Ignored is a key that is accepted and has no effect, and why.
	Ignored string
	// Refused is a key that must have no value, and why.
	Refused struct {
		Why  string
		Seen *bool
	}
)

const (
	noNSXT = "vzones has no NSX-T load balancers and no NSX-T routes: remove this section, " +
		"and leave them to a controller of their own"
	noAPI       = "has no effect: vzones does not serve the API of the vSphere CPI"
	noSwitch    = "has no effect: several IP families need no switch"
	internalKey = "has no effect: the vSphere CPI sets it by itself"
)

func (s *File) Fields() []Field {
	return []Field{
		{"global", Group{s.Global.Fields(true), &s.Global.Unsure}},
		{"vcenter", Entries{At: &s.VCentersAt, Broken: &s.Broken, Add: s.entry}},
		{"labels", Group{Fields: []Field{{"region", &s.Region}, {"zone", &s.Zone}}}},
		{"topology", Group{Fields: []Field{
			{"precedence", &s.Topology.Precedence},
			{"paths", &s.Topology.Paths},
			{"levels", Elements{Add: s.Topology.level}},
			{"backfill", &s.Topology.Backfill},
			{"drift", &s.Topology.Drift},
			{"settle", &s.Topology.Settle},
		}}},
		{"nodes", Group{Fields: []Field{
			{"internalNetworkSubnetCidr", &s.Nodes.InternalSubnets},
			{"externalNetworkSubnetCidr", &s.Nodes.ExternalSubnets},
			{"internalVmNetworkName", &s.Nodes.InternalNetwork},
			{"externalVmNetworkName", &s.Nodes.ExternalNetwork},
			{"excludeInternalNetworkSubnetCidr", &s.Nodes.ExcludeInternalSubnets},
			{"excludeExternalNetworkSubnetCidr", &s.Nodes.ExcludeExternalSubnets},
			{"networks", &s.Nodes.Networks},
			{"excludeNetworks", &s.Nodes.ExcludeNetworks},
			{"selector", &s.Nodes.Selector},
			{"labels", &s.Nodes.Labels},
			{"skipDeletion", &s.Nodes.SkipDeletion},
			{"matchByName", &s.Nodes.MatchByName},
		}}},
		{"loadBalancer", Refused{Why: noNSXT}},
		{"loadBalancerClass", Refused{Why: noNSXT}},
		{"route", Refused{Why: noNSXT}},
		{"nsxt", Refused{Why: noNSXT}},
	}
}

func (s *File) entry(name string, at problem.Position) []Field {
	entry := &Section{Name: name, At: at}
	s.VCenters = append(s.VCenters, entry)
	return entry.Fields(false)
}

func (p *Placement) level(at problem.Position) []Field {
	l := &Level{Rule: Rule{At: at}}
	p.Levels = append(p.Levels, l)
	return l.Fields()
}

func (l *Level) Fields() []Field {
	return append(append([]Field{{"label", &l.Label}}, l.Rule.Fields()...), Field{"nested", &l.Nested})
}

func (r *Rule) Fields() []Field {
	return []Field{
		{"tag", &r.Tag},
		{"inventory", &r.Inventory},
		{"value", &r.Value},
		{"hostGroup", &r.HostGroup},
		{"required", &r.Required},
	}
}

func (s *Section) Fields(global bool) []Field {
	both := []Field{
		{"user", &s.User},
		{"password", &s.Password},
		{"server", &s.Server},
		{"port", &s.Port},
		{"insecureFlag", &s.Insecure},
		{"datacenters", &s.Datacenters},
		{"soapRoundtripCount", &s.RoundTrips},
		{"caFile", &s.CAFile},
		{"caData", &s.CAData},
		{"thumbprint", &s.Thumbprint},
		{"secretName", &s.SecretName},
		{"secretNamespace", &s.SecretNamespace},
		{"ipFamily", &s.IPFamilies},
		{"index", &s.Index},
	}
	if global {
		return append(both,
			Field{"secretsDirectory", &s.SecretsDirectory},
			Field{"apiDisable", Ignored(noAPI)},
			Field{"apiBinding", Ignored(noAPI)},
		)
	}
	// OpenShift's installer writes these two.
	return append(both,
		Field{"tenantref", Ignored(internalKey)},
		Field{"secretref", Ignored(internalKey)},
	)
}

// Places maps each key of the schema to where it belongs, for a hint where it
// stands elsewhere. A key that belongs in several places gets no hint.
func Places(root []Field) map[string]string {
	where := make(map[string]string)
	note := func(fields []Field, place string) {
		for _, f := range fields {
			if other, known := where[f.Name]; known && other != place {
				where[f.Name] = ""
			} else {
				where[f.Name] = place
			}
		}
	}
	note(root, "at the top level")
	for _, f := range root {
		switch into := f.Into.(type) {
		case Group:
			note(into.Fields, "under "+f.Name)
		case Entries:
			note((&Section{}).Fields(false), "in an entry under "+f.Name)
		}
	}
	return where
}

// Bounds on what a configuration may cost.
const (
	MaxVCenters = 1000
	MaxLevels   = 100
)

const NoName = "is no name for a vCenter: write one of at most 253 bytes, without line breaks, nor blanks at its ends, such as its address"
