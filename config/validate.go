package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// validate makes a Config of what a file says. It is to be used only if
// problems has no errors afterwards.
func (c *checker) validate(s *schema) *Config {
	fleet := c.fleet(s)
	return &Config{
		File:      c.file,
		Files:     c.files,
		VCenters:  fleet,
		Topology:  c.topology(s, fleet),
		Addresses: c.addresses(s.nodes),

		NodeSelector:     c.selector(s.nodes.selector),
		NodeLabels:       c.nodeLabels(s.nodes.labels, s.topology.levels),
		SkipNodeDeletion: otherwise(s.nodes.skipDeletion, false),
		MatchByName:      otherwise(s.nodes.matchByName, true),
	}
}

type checker struct {
	*problems
	// skipFiles leaves the files unread that the configuration names.
	skipFiles bool
	// inherited are the vCenters with what they take from the global section.
	inherited []settings
	// files are the CA files that were read, each once, and caFiles what they hold.
	files   []string
	caFiles map[string]caFile
	// caData are the certificates in the configuration itself.
	caData map[string]caFile
	// lists are the certificates of lists of files, which have caBytes together.
	lists   map[string][]byte
	caBytes int
}

// complain reports what is wrong with a value, if anything is.
func (c *checker) complain(v text, wrong *complaint) bool {
	if wrong == nil {
		return false
	}
	if v.mute {
		c.errorf(v.at, "%s", wrong.what)
	} else {
		c.errorf(v.at, "%s%s", wrong.what, c.words.example(wrong.detail))
	}
	return true
}

// settings are a section whose values were checked one by one.
type settings struct {
	name string
	at   position

	user             text
	password         secret
	server           text
	port, roundTrips number
	insecure         toggle
	datacenters      value[[]string]
	families         value[[]string]
	authority        value[authority]
	thumbprint       text
	index            text
	secret           value[SecretRef]
	namespace        text // as it is written beside the Secret's name
	directory        text
	session          position
	apart            bool
	unsure           bool
}

func (c *checker) settings(s *section) settings {
	c.user(&s.user)
	c.password(&s.password)
	if s.server.usable() {
		address, wrong := parseServer(s.server.v)
		s.server.bad = c.complain(s.server, wrong)
		s.server.v = address
		c.underscore(s.server)
	}
	if s.port.usable() && (s.port.v < 1 || s.port.v > 65535) {
		s.port.bad = true
		c.errorf(s.port.at, "%d is no port: write a number from 1 to 65535", s.port.v)
	}
	if s.roundTrips.usable() && s.roundTrips.v < 1 {
		s.roundTrips.bad = true
		c.errorf(s.roundTrips.at, "%d is no count: write 1 or more", s.roundTrips.v)
	}
	if s.thumbprint.usable() {
		thumbprint, wrong := "", (*complaint)(nil)
		if !strings.EqualFold(strings.TrimSpace(s.thumbprint.v), noThumbprint) {
			thumbprint, wrong = parseThumbprint(s.thumbprint.v)
		}
		s.thumbprint.bad = c.complain(s.thumbprint, wrong)
		s.thumbprint.v = thumbprint
	}
	s.index.bad = !c.isIndex(s.index)
	return settings{
		name: s.name, at: s.at,
		user: s.user, password: s.password, server: s.server,
		port: s.port, roundTrips: s.roundTrips, insecure: s.insecure,
		datacenters: c.datacenters(s.datacenters), families: c.families(s.ipFamilies),
		authority: c.authority(s.caFile, s.caData), thumbprint: s.thumbprint, index: s.index,
		secret: c.secret(s.secretName, s.secretNamespace), namespace: s.secretNamespace, directory: c.directory(s.secretsDirectory),
		apart: s.apart, session: s.session, unsure: s.unsure,
	}
}

// directory takes the path of a directory that may not be there yet.
func (c *checker) directory(dir text) text {
	if !dir.usable() {
		return dir
	}
	var wrong *complaint
	switch {
	case strings.TrimSpace(dir.v) == "":
		wrong = &complaint{what: "is blank: write the path of a directory, or remove the key"}
	case parseName(dir.v) != nil:
		wrong = parseName(dir.v)
	case !filepath.IsAbs(dir.v):
		wrong = &complaint{"is no absolute path: write one that begins with /, such as /etc/cloud/secrets", found(dir.v)}
	}
	dir.bad = c.complain(dir, wrong)
	dir.v = filepath.Clean(dir.v)
	return dir
}

// secret takes name and namespace together: half of a pair from the entry and
// half from the global section would name a Secret that nobody wrote down.
func (c *checker) secret(name, namespace text) value[SecretRef] {
	v := value[SecretRef]{at: name.at, set: name.set || namespace.set, bad: name.bad || namespace.bad}
	switch {
	case name.set && !namespace.set:
		v.bad = true
		c.errorf(name.at, "has no %s beside it: write both in the same place", beside(name.at, "VSPHERE_SECRET_NAMESPACE", c.words.secretNamespace))
	case namespace.set && !name.set:
		v.at, v.bad = namespace.at, true
		c.errorf(namespace.at, "has no %s beside it: write both in the same place", beside(namespace.at, "VSPHERE_SECRET_NAME", c.words.secretName))
	}
	// Neither is shown: perhaps the secret itself was written there.
	if name.usable() && (len(name.v) > 253 || !secretName.MatchString(name.v)) {
		v.bad = c.complain(name, &complaint{what: "is no name of a Secret: write lower-case letters, digits, - and ."})
	}
	if namespace.usable() && !namespaceName.MatchString(namespace.v) {
		v.bad = c.complain(namespace, &complaint{what: "is no name of a namespace: write lower-case letters, digits and -"})
	}
	v.v = SecretRef{Namespace: namespace.v, Name: name.v}
	return v
}

// beside names what belongs to a field: another one, or another variable.
func beside(at position, variable, key string) string {
	if at.line == inEnvironment {
		return variable
	}
	return key
}

func (c *checker) families(given list) value[[]string] {
	v := value[[]string]{at: given.at, set: given.set, bad: given.bad}
	if !given.usable() {
		return v
	}
	if allBlank(given.v) {
		v.set = false
		return v
	}
	for _, element := range given.v {
		family := strings.ToLower(strings.TrimSpace(element.v))
		several := c.words.several
		if element.at.line == inEnvironment {
			several = iniWords.several
		}
		switch {
		case family != "ipv4" && family != "ipv6":
			v.bad = c.complain(element, &complaint{"is no IP family: write ipv4 or ipv6, " + several, found(element.v)})
		case slices.Contains(v.v, family):
			v.bad = true
			c.errorf(element.at, "is listed twice: remove one of the two")
		default:
			v.v = append(v.v, family)
		}
	}
	return v
}

func allBlank(elements []text) bool {
	return !slices.ContainsFunc(elements, func(t text) bool { return strings.TrimSpace(t.v) != "" })
}
