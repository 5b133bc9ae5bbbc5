// Package validate makes a configuration of what a file says, wherever its fields came from,
// or finds all that is wrong with it. It reads the CA files that the configuration names and
// nothing else.
package validate

import (
	"path/filepath"
	"slices"
	"strings"

	"vzones/config"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
)

// validate makes a Config of what a file says. It is to be used only if
// problems has no errors afterwards.
func (c *checker) validate(s *schema.File) *config.Config {
	c.described(s.Fields())
	for _, e := range s.VCenters {
		c.described(e.Fields(false))
	}
	for _, l := range s.Topology.Levels {
		c.described(l.Fields())
	}
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

type checker struct {
	*problem.List
	// skipFiles leaves the files unread that the configuration names.
	skipFiles bool
	// inherited are the vCenters with what they take from the global section.
	inherited []Settings
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
func (c *checker) complain(v schema.Text, wrong *check.Mistake) bool {
	if wrong == nil {
		return false
	}
	if v.Mute {
		c.Errorf(v.At, "%s", wrong.What)
	} else {
		c.Errorf(v.At, "%s%s", wrong.What, c.Words.Example(wrong.Detail))
	}
	return true
}

// described checks values as their fields are described: which words, and which numbers.
func (c *checker) described(fields []schema.Field) {
	for _, f := range fields {
		switch into := f.Into.(type) {
		case schema.Group:
			c.described(into.Fields)
		case *schema.Rule:
			c.described(into.Fields())
		case *schema.Text:
			if into.Usable() && len(f.Words) > 0 && !slices.Contains(f.Words, into.V) {
				into.Bad = c.complain(*into, &check.Mistake{
					What: "is not a valid " + f.Name + ": write " + check.Alternatives(f.Words), Detail: check.Found(into.V)})
			}
		case *schema.Number:
			if into.Usable() && !f.Limits.Allow(into.V) {
				into.Bad = true
				c.Errorf(into.At, "%d is not a valid %s: write %v", into.V, f.Limits.What, f.Limits)
			}
		}
	}
}

// Settings are a section whose values were checked one by one.
type Settings struct {
	Name string
	At   problem.Position

	User             schema.Text
	Password         schema.Secret
	Server           schema.Text
	Port, RoundTrips schema.Number
	Insecure         schema.Toggle
	Datacenters      schema.Value[[]string]
	Families         schema.Value[[]string]
	Authority        schema.Value[authority]
	Thumbprint       schema.Text
	Index            schema.Text
	Secret           schema.Value[config.SecretRef]
	Namespace        schema.Text // as it is written beside the Secret's name
	Directory        schema.Text
	session          problem.Position
	apart            bool
	unsure           bool
}

func (c *checker) settings(s *schema.Section) Settings {
	c.user(&s.User)
	c.password(&s.Password)
	if s.Server.Usable() {
		address, wrong := check.ParseServer(s.Server.V)
		s.Server.Bad = c.complain(s.Server, wrong)
		s.Server.V = address
		c.underscore(s.Server)
	}
	if s.Thumbprint.Usable() {
		thumbprint, wrong := "", (*check.Mistake)(nil)
		if !strings.EqualFold(strings.TrimSpace(s.Thumbprint.V), check.NoThumbprint) {
			thumbprint, wrong = check.ParseThumbprint(s.Thumbprint.V)
		}
		s.Thumbprint.Bad = c.complain(s.Thumbprint, wrong)
		s.Thumbprint.V = thumbprint
	}
	if s.Index.Usable() && s.Index.V == schema.IndexFollowed {
		c.Warnf(s.Index.At, "the machine of a Node without a system UUID is found by its guest host name only, "+
			"and not by its own name in vCenter: use %s if such Nodes have no VMware Tools", schema.IndexAll)
	}
	return Settings{
		Name: s.Name, At: s.At,
		User: s.User, Password: s.Password, Server: s.Server,
		Port: s.Port, RoundTrips: s.RoundTrips, Insecure: s.Insecure,
		Datacenters: c.datacenters(s.Datacenters), Families: c.families(s.IPFamilies),
		Authority: c.authority(s.CAFile, s.CAData), Thumbprint: s.Thumbprint, Index: s.Index,
		Secret: c.secret(s.SecretName, s.SecretNamespace), Namespace: s.SecretNamespace, Directory: c.directory(s.SecretsDirectory),
		apart: s.Apart, session: s.Session, unsure: s.Unsure,
	}
}

// directory takes the path of a directory that may not be there yet.
func (c *checker) directory(dir schema.Text) schema.Text {
	if !dir.Usable() {
		return dir
	}
	var wrong *check.Mistake
	switch {
	case strings.TrimSpace(dir.V) == "":
		wrong = &check.Mistake{What: "is blank: write the path of a directory, or remove the key"}
	case check.ParseName(dir.V) != nil:
		wrong = check.ParseName(dir.V)
	case !filepath.IsAbs(dir.V):
		wrong = &check.Mistake{What: "is no absolute path: write one that begins with /, such as /etc/cloud/secrets", Detail: check.Found(dir.V)}
	}
	dir.Bad = c.complain(dir, wrong)
	dir.V = filepath.Clean(dir.V)
	return dir
}

// secret takes name and namespace together: half of a pair from the entry and
// half from the global section would name a Secret that nobody wrote down.
func (c *checker) secret(name, namespace schema.Text) schema.Value[config.SecretRef] {
	v := schema.Value[config.SecretRef]{At: name.At, Set: name.Set || namespace.Set, Bad: name.Bad || namespace.Bad}
	switch {
	case name.Set && !namespace.Set:
		v.Bad = true
		c.Errorf(name.At, "has no %s beside it: write both in the same place", beside(name.At, "VSPHERE_SECRET_NAMESPACE", c.Words.SecretNamespace))
	case namespace.Set && !name.Set:
		v.At, v.Bad = namespace.At, true
		c.Errorf(namespace.At, "has no %s beside it: write both in the same place", beside(namespace.At, "VSPHERE_SECRET_NAME", c.Words.SecretName))
	}
	// Neither is shown: perhaps the secret itself was written there.
	if name.Usable() && (len(name.V) > 253 || !check.SecretName.MatchString(name.V)) {
		v.Bad = c.complain(name, &check.Mistake{What: "is no name of a Secret: write lower-case letters, digits, - and ."})
	}
	if namespace.Usable() && !check.NamespaceName.MatchString(namespace.V) {
		v.Bad = c.complain(namespace, &check.Mistake{What: "is no name of a namespace: write lower-case letters, digits and -"})
	}
	v.V = config.SecretRef{Namespace: namespace.V, Name: name.V}
	return v
}

// beside names what belongs to a field: another one, or another variable.
func beside(at problem.Position, variable, key string) string {
	if at.Line == problem.InEnvironment {
		return variable
	}
	return key
}

func (c *checker) families(given schema.List) schema.Value[[]string] {
	v := schema.Value[[]string]{At: given.At, Set: given.Set, Bad: given.Bad}
	if !given.Usable() {
		return v
	}
	if allBlank(given.V) {
		v.Set = false
		return v
	}
	for _, element := range given.V {
		family := strings.ToLower(strings.TrimSpace(element.V))
		several := c.Words.Several
		if element.At.Line == problem.InEnvironment {
			several = problem.INIWords.Several
		}
		switch {
		case family != "ipv4" && family != "ipv6":
			v.Bad = c.complain(element, &check.Mistake{What: "is no IP family: write ipv4 or ipv6, " + several, Detail: check.Found(element.V)})
		case slices.Contains(v.V, family):
			v.Bad = true
			c.Errorf(element.At, "is listed twice: remove one of the two")
		default:
			v.V = append(v.V, family)
		}
	}
	return v
}

func allBlank(elements []schema.Text) bool {
	return !slices.ContainsFunc(elements, func(t schema.Text) bool { return strings.TrimSpace(t.V) != "" })
}

// File makes a Config of what a file says, and returns what its vCenters were made
// of, in the same order. Both are to be used only if p has no errors afterwards.
func File(s *schema.File, p *problem.List, skipFiles bool) (*config.Config, []Settings) {
	c := &checker{List: p, skipFiles: skipFiles}
	return c.validate(s), c.inherited
}

// Bounds on what a configuration may cost.
const (
	// maxCAFiles is how many CA files are named, each of which is watched, and maxCABytes
	// how much is kept of them.
	maxCAFiles = 1000
	maxCABytes = 64 << 20
)
