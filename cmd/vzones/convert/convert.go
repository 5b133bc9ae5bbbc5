// Package convert is vzones convert: it writes a configuration in another form, as YAML with the
// credentials in a Secret, or as the values in force with their sources. Only the command writes a file,
// and secrets are in Written.Private only.
package convert

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"vzones/config"
	"vzones/config/load"
	"vzones/internal/quote"
)

// Written is a configuration in another form.
type Written struct {
	// Data has no secrets in it.
	Data []byte
	// Private is the manifest of a Secret, empty if there are no credentials to write.
	Private config.Password
	// PrivateLine is the line of the file that has the first credentials, 0 if there are none.
	PrivateLine int
	// Warnings are those of the file that was read.
	Warnings []config.Warning
	// Lost names the settings of the file that the other form cannot hold, by line.
	Lost []config.Warning
}

// loaded is a file that is to be written in another form.
type loaded struct{ *load.Document }

// ToYAML returns a file of any format in the YAML format, with the credentials
// in the manifest of a Secret instead: Written.Private, with the given name. What
// the file leaves to its global section or to defaults, it leaves to them too, and
// a vCenter that has a Secret already keeps it. Neither the environment nor the CA
// files are read. Its errors are those of Parse; a name that Kubernetes does not
// accept is another.
func ToYAML(file string, data []byte, ref config.SecretRef) (*Written, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	d, err := load.Options{SkipFiles: true}.Load(file, data)
	if err != nil {
		return nil, err
	}
	l := loaded{d}
	p := &load.Problems{File: file}
	logins := l.logins(p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	w := &Written{Warnings: l.Config.Warnings}
	s := l.withoutCredentials()
	if len(logins) > 0 {
		// A vCenter that took its account from the file has neither Secret nor
		// directory, so that there is no global one either.
		s.global.Put("secretName", &load.Value{Text: ref.Name, Set: true})
		s.global.Put("secretNamespace", &load.Value{Text: ref.Namespace, Set: true})
		w.Private = secretManifest(ref, logins)
		for _, l := range logins {
			if w.PrivateLine == 0 || l.line < w.PrivateLine {
				w.PrivateLine = l.line
			}
		}
	}
	w.Data = writer{}.file(s, "Written by vzones convert from "+oneLine(file)+".")
	w.Lost = load.Sorted(append(p.Warnings, l.walkedTogether()...))
	return w, nil
}

// logins returns the accounts that vCenters have in the file, one for each address.
func (l loaded) logins(p *load.Problems) []login {
	var all []login
	for i := range l.Config.VCenters {
		vc := &l.Config.VCenters[i]
		from := l.Fleet[i]
		switch {
		case !from.V("user").Set:
		case from.V("secret").Set, from.V("secretsDirectory").Set:
			p.Warnf(from.V("password").At, "the credentials come from %s: "+
				"write user and password there if it has none for %s", elsewhere(vc), vc.Server)
		default:
			all = addLogin(all, login{vc.Server, vc.User, vc.Password, from.V("user").At.Line}, from, p)
		}
	}
	return all
}

// elsewhere names where credentials are that are not in the file.
func elsewhere(vc *config.VCenter) string {
	if vc.Secret == (config.SecretRef{}) {
		return "the directory " + vc.SecretsDirectory
	}
	return "the Secret " + vc.Secret.Namespace + "/" + vc.Secret.Name
}

// addLogin adds an account that vzones would find in a Secret: there one account
// serves all ways to write an address, and a line break ends it.
func addLogin(all []login, l login, from *load.Section, p *load.Problems) []login {
	if !load.IsPEM(l.user) && strings.ContainsFunc(l.password.Reveal(), unicode.IsControl) {
		p.Errorf(from.V("password").At, "has a line break or another control character, which no password in a Secret may have: "+
			"remove it if it does not belong to the password, or change the password")
	}
	written := false
	for _, other := range all {
		if config.SameServer(other.server, 0) != config.SameServer(l.server, 0) {
			continue
		}
		if other.user != l.user || !other.password.Equal(l.password) {
			p.Errorf(from.V("password").At, "is of another account than that of the same address in another entry, and a Secret has one "+
				"for each address: write a Secret for this entry, or the same account for both")
		}
		written = written || other.server == l.server
	}
	if written {
		return all
	}
	return append(all, l)
}

// withoutCredentials returns what the file says, but for credentials.
func (l loaded) withoutCredentials() *contents {
	strip := func(s *load.Section) *load.Section {
		s = s.Clone()
		s.Put("user", new(load.Value))
		s.Put("password", new(load.Value))
		if t := s.V("thumbprint"); t.Set && t.Text == "" {
			s.Put("thumbprint", &load.Value{Text: load.NoThumbprint, Set: true})
		}
		return s
	}
	s := &contents{global: strip(l.Global), region: l.Region, zone: l.Zone, topology: l.Topology, nodes: l.Nodes, levels: l.Levels}
	for _, e := range l.VCenters {
		s.vcenters = append(s.vcenters, strip(e))
	}
	if !l.Categories.Set {
		return s
	}
	s.levels = nil
	for _, label := range l.labels() {
		r := label.from.Clone()
		// Region and zone are required without a word.
		if r.IsShort = label.builtIn(); !r.IsShort {
			r.Put("label", label.key)
			r.Put("nested", label.nested)
		}
		s.place(label, r)
	}
	return s
}

// login is the account for an address.
type login struct {
	server, user string
	password     config.Password
	// line is where the file has it.
	line int
}

// secretKey is what Kubernetes accepts for a key of a Secret.
var secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// secretManifest returns the manifest of a Secret with accounts, by address: under
// <server>.username and <server>.password, and where that can be no key, as for an
// IPv6 address, under server_N, username_N and password_N.
func secretManifest(ref config.SecretRef, logins []login) config.Password {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	data := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key, value string) { data.Content = append(data.Content, scalar(key), quoted(value)) }
	suffix := 0
	for _, l := range logins {
		if secretKey.MatchString(l.server + ".username") {
			add(l.server+".username", l.user)
			add(l.server+".password", l.password.Reveal())
			continue
		}
		suffix++
		add(fmt.Sprintf("server_%d", suffix), l.server)
		add(fmt.Sprintf("username_%d", suffix), l.user)
		add(fmt.Sprintf("password_%d", suffix), l.password.Reveal())
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: %s\n  name: %s\ntype: Opaque\n",
		quote.Value(ref.Namespace), quote.Value(ref.Name))
	encode(&b, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar("stringData"), data}})
	return config.NewPassword(b.String())
}
