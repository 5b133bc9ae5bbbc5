// Package convert writes a configuration in another form: as YAML with the credentials in a Secret,
// and as the values in force with their sources. It never writes a file, and secrets only into
// Written.Private.
package convert

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/parse"
	"vzones/config/parse/yaml"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/config/validate"
	"vzones/topology/quote"
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
	// Notes are those of the file too, of Effective alone.
	Notes []config.Warning
	// Lost names the settings of the file that the other form cannot hold, by line.
	Lost []config.Warning
}

// loaded is a file that is to be written in another form.
type loaded struct{ *parse.Document }

// load reads and validates a file.
func load(file string, data []byte, o parse.Options) (*loaded, error) {
	d, err := parse.Load(file, data, o)
	if err != nil {
		return nil, err
	}
	return &loaded{d}, nil
}

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
	l, err := load(file, data, parse.Options{SkipFiles: true})
	if err != nil {
		return nil, err
	}
	p := &problem.List{File: file}
	logins := l.logins(p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	w := &Written{Warnings: l.Config.Warnings}
	s := l.withoutCredentials()
	if len(logins) > 0 {
		// A vCenter that took its account from the file has neither Secret nor
		// directory, so that there is no global one either.
		s.Global.SecretName = schema.Text{V: ref.Name, Set: true}
		s.Global.SecretNamespace = schema.Text{V: ref.Namespace, Set: true}
		w.Private = secretManifest(ref, logins)
		for _, l := range logins {
			if w.PrivateLine == 0 || l.line < w.PrivateLine {
				w.PrivateLine = l.line
			}
		}
	}
	w.Data = yaml.Writer{}.File(s, "Written by vzones convert from "+oneLine(file)+".")
	w.Lost = problem.Sorted(append(p.Warnings, l.walkedTogether()...), func(w config.Warning) config.Error { return config.Error(w) })
	return w, nil
}

// logins returns the accounts that vCenters have in the file, one for each address.
func (l *loaded) logins(p *problem.List) []login {
	var all []login
	for i := range l.Config.VCenters {
		vc, from := &l.Config.VCenters[i], l.Fleet[i]
		switch {
		case !from.User.Set:
		case from.SecretRef.Set, from.SecretsDirectory.Set:
			p.Warnf(from.Password.At, "the credentials come from %s: "+
				"write user and password there if it has none for %s", elsewhere(vc), vc.Server)
		default:
			all = addLogin(all, login{vc.Server, vc.User, vc.Password, from.User.At.Line}, from, p)
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
func addLogin(all []login, l login, from validate.Settings, p *problem.List) []login {
	if !check.IsPEM(l.user) && strings.ContainsFunc(l.password.Reveal(), unicode.IsControl) {
		p.Errorf(from.Password.At, "has a line break or another control character, which no password in a Secret may have: "+
			"remove it if it does not belong to the password, or change the password")
	}
	written := false
	for _, other := range all {
		if check.SameServer(other.server, 0) != check.SameServer(l.server, 0) {
			continue
		}
		if other.user != l.user || !other.password.Equal(l.password) {
			p.Errorf(from.Password.At, "is of another account than that of the same address in another entry, and a Secret has one "+
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
func (l *loaded) withoutCredentials() *schema.File {
	s := *l.Schema
	strip := func(s schema.Section) schema.Section {
		s.User, s.Password = schema.Text{}, schema.Secret{}
		if s.Thumbprint.Set && s.Thumbprint.V == "" {
			s.Thumbprint.V = check.NoThumbprint
		}
		return s
	}
	s.Global = strip(s.Global)
	s.VCenters = nil
	for _, from := range l.Schema.VCenters {
		e := strip(*from)
		s.VCenters = append(s.VCenters, &e)
	}
	if !s.Categories.Set {
		return &s
	}
	for _, label := range l.labels() {
		r := label.from
		// Region and zone are required without a word.
		r.Short, r.Required.Set = label.builtIn(), !label.builtIn()
		place(&s, label, r)
	}
	return &s
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
	add := func(key, value string) { data.Content = append(data.Content, yaml.Scalar(key), quoted(value)) }
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
	yaml.Encode(&b, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{yaml.Scalar("stringData"), data}})
	return config.NewPassword(b.String())
}
