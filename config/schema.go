package config

import "slices"

// The schema is what a file says, before anything is checked, inherited or
// defaulted. Every format is read into it; keys are the YAML format's, from which
// those of the INI format follow.

// value is one field as the file gives it.
type value[T any] struct {
	v  T
	at position
	// set says that the file gives a value, if only a wrong one. What is
	// written but empty (null, "", [], a port of 0) is not set, as in the CPI.
	set bool
	// bad says that the value was reported as wrong: v is not to be used, nor
	// the field to be reported as missing.
	bad bool
	// mute says that the text also serves elsewhere in the file, perhaps as a
	// password, and must not appear in a message.
	mute bool
}

// written says that the file has the field at all.
func (v value[T]) written() bool { return v.at.line != 0 }

func (v value[T]) usable() bool { return v.set && !v.bad }

type (
	text   = value[string]
	number = value[int]
	toggle = value[bool]
	list   = value[[]text]
	secret = value[Password]
)

type schema struct {
	global     section
	vcenters   []*section
	vcentersAt position
	// broken says that there are entries that could not be read.
	broken bool

	region, zone rule
	// categories and categoryLabels are the CSI driver's way to say where labels
	// come from.
	categories     list
	categoryLabels []*categoryLabel
	topology       placement
	nodes          nodes
}

// categoryLabel is what the CSI driver's file says of one tag category.
type categoryLabel struct {
	name  string
	at    position
	label text
}

// section is the global section or one vCenter's entry.
type section struct {
	name string
	at   position

	user, server                text
	password                    secret
	port, roundTrips            number
	insecure                    toggle
	datacenters, ipFamilies     list
	caFile, caData, thumbprint  text
	index                       text
	secretName, secretNamespace text
	secretsDirectory            text // of the global section alone
	// session is where a session manager stands, if one does.
	session position
	// own is what the section has for the CSI driver alone.
	own []csiValue
	// apart says that the section's account is not for the entries, since the file names
	// one place besides where theirs are. The environment has no part in that.
	apart bool
	// unsure says that the section holds more than could be read, perhaps
	// the credentials.
	unsure bool
}

type nodes struct {
	internalSubnets, externalSubnets               text
	internalNetwork, externalNetwork               text
	excludeInternalSubnets, excludeExternalSubnets text
	networks, excludeNetworks                      list
	selector                                       text
	labels                                         table
	skipDeletion, matchByName                      toggle
}

// rule is where a label's value comes from.
type rule struct {
	at position
	// These are the sources, of which a rule has one: see sources.
	tag, inventory, hostGroup text
	// value is how the label's value is made of several sources.
	value    text
	required toggle
	// short says that the rule is the name of a tag category alone, and no mapping.
	short bool
	// bad says that the mapping could not be read.
	bad bool
}

// sourceField is a field of a rule that says where the value comes from, and its name.
type sourceField struct {
	name string
	*text
}

// sources returns those that are set.
func (r *rule) sources() []sourceField {
	all := []sourceField{{"tag", &r.tag}, {"inventory", &r.inventory}, {"hostGroup", &r.hostGroup}}
	return slices.DeleteFunc(all, func(s sourceField) bool { return !s.set })
}

// placement is the topology section.
type placement struct {
	precedence, drift, settle text
	paths                     list
	levels                    []*level
	backfill                  toggle
}

type level struct {
	label  text
	nested toggle
	rule
}

// A field is one key of a mapping and where its value goes: a pointer to a
// value, or one of the types below.
type field struct {
	name string
	into any
}

type (
	// group is a mapping with known keys; unsure, if there is one, is set if
	// the mapping is there and cannot be read.
	group struct {
		fields []field
		unsure *bool
	}
	// entries is a mapping whose keys are names; the function makes room for
	// the entry of a name and returns its fields.
	entries struct {
		at     *position
		broken *bool
		add    func(name string, at position) []field
	}
	// elements is a list of mappings; the function makes room for one and returns
	// its fields.
	elements struct {
		add func(at position) []field
	}
	// ignored is a key that is accepted and has no effect, and why.
	ignored string
	// refused is a key that must have no value, and why.
	refused struct {
		why  string
		seen *bool
	}
)

const (
	noNSXT = "vzones has no NSX-T load balancers and no NSX-T routes: remove this section, " +
		"and leave them to a controller of their own"
	noAPI       = "has no effect: vzones does not serve the API of the vSphere CPI"
	noSwitch    = "has no effect: several IP families need no switch"
	internalKey = "has no effect: the vSphere CPI sets it by itself"
)

func (s *schema) fields() []field {
	return []field{
		{"global", group{s.global.fields(true), &s.global.unsure}},
		{"vcenter", entries{at: &s.vcentersAt, broken: &s.broken, add: s.entry}},
		{"labels", group{fields: []field{{"region", &s.region}, {"zone", &s.zone}}}},
		{"topology", group{fields: []field{
			{"precedence", &s.topology.precedence},
			{"paths", &s.topology.paths},
			{"levels", elements{add: s.topology.level}},
			{"backfill", &s.topology.backfill},
			{"drift", &s.topology.drift},
			{"settle", &s.topology.settle},
		}}},
		{"nodes", group{fields: []field{
			{"internalNetworkSubnetCidr", &s.nodes.internalSubnets},
			{"externalNetworkSubnetCidr", &s.nodes.externalSubnets},
			{"internalVmNetworkName", &s.nodes.internalNetwork},
			{"externalVmNetworkName", &s.nodes.externalNetwork},
			{"excludeInternalNetworkSubnetCidr", &s.nodes.excludeInternalSubnets},
			{"excludeExternalNetworkSubnetCidr", &s.nodes.excludeExternalSubnets},
			{"networks", &s.nodes.networks},
			{"excludeNetworks", &s.nodes.excludeNetworks},
			{"selector", &s.nodes.selector},
			{"labels", &s.nodes.labels},
			{"skipDeletion", &s.nodes.skipDeletion},
			{"matchByName", &s.nodes.matchByName},
		}}},
		{"loadBalancer", refused{why: noNSXT}},
		{"loadBalancerClass", refused{why: noNSXT}},
		{"route", refused{why: noNSXT}},
		{"nsxt", refused{why: noNSXT}},
	}
}

func (s *schema) entry(name string, at position) []field {
	entry := &section{name: name, at: at}
	s.vcenters = append(s.vcenters, entry)
	return entry.fields(false)
}

func (p *placement) level(at position) []field {
	l := &level{rule: rule{at: at}}
	p.levels = append(p.levels, l)
	return l.fields()
}

func (l *level) fields() []field {
	return append(append([]field{{"label", &l.label}}, l.rule.fields()...), field{"nested", &l.nested})
}

func (r *rule) fields() []field {
	return []field{
		{"tag", &r.tag},
		{"inventory", &r.inventory},
		{"value", &r.value},
		{"hostGroup", &r.hostGroup},
		{"required", &r.required},
	}
}

func (s *section) fields(global bool) []field {
	both := []field{
		{"user", &s.user},
		{"password", &s.password},
		{"server", &s.server},
		{"port", &s.port},
		{"insecureFlag", &s.insecure},
		{"datacenters", &s.datacenters},
		{"soapRoundtripCount", &s.roundTrips},
		{"caFile", &s.caFile},
		{"caData", &s.caData},
		{"thumbprint", &s.thumbprint},
		{"secretName", &s.secretName},
		{"secretNamespace", &s.secretNamespace},
		{"ipFamily", &s.ipFamilies},
		{"index", &s.index},
	}
	if global {
		return append(both,
			field{"secretsDirectory", &s.secretsDirectory},
			field{"apiDisable", ignored(noAPI)},
			field{"apiBinding", ignored(noAPI)},
		)
	}
	// OpenShift's installer writes these two.
	return append(both,
		field{"tenantref", ignored(internalKey)},
		field{"secretref", ignored(internalKey)},
	)
}

// places maps each key of the schema to where it belongs, for a hint where it
// stands elsewhere. A key that belongs in several places gets no hint.
func places(root []field) map[string]string {
	where := make(map[string]string)
	note := func(fields []field, place string) {
		for _, f := range fields {
			if other, known := where[f.name]; known && other != place {
				where[f.name] = ""
			} else {
				where[f.name] = place
			}
		}
	}
	note(root, "at the top level")
	for _, f := range root {
		switch into := f.into.(type) {
		case group:
			note(into.fields, "under "+f.name)
		case entries:
			note((&section{}).fields(false), "in an entry under "+f.name)
		}
	}
	return where
}
