// Package convert implements vzones convert: it writes a configuration as YAML with the credentials in a
// Secret, or the effective values with their sources. Only Written.Private contains secrets.
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

// Written is a converted configuration.
type Written struct {
	// Data contains no secrets.
	Data []byte
	// Private is the manifest of a Secret, or empty if there are no credentials.
	Private config.Password
	// PrivateLine is the line of the first credentials in the file, or 0.
	PrivateLine int
	// Warnings are the warnings of the original file.
	Warnings []config.Warning
	// Lost are the settings that the new format cannot express, sorted by line.
	Lost []config.Warning
}

type loaded struct{ *load.Document }

// ToYAML converts a file of any format to YAML. Credentials move to the manifest of the Secret ref in
// Written.Private, and a vCenter with its own Secret keeps it. Inherited and default values stay
// implicit. It reads neither the environment nor the CA files. The error is a config.Errors, or reports
// that ref is invalid.
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
		// A vCenter with an account in the file has neither a Secret nor a directory, so global has none
		// either.
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
	w.Lost = load.Sorted(append(p.Warnings, l.jointCategoryWarnings()...))
	return w, nil
}

// logins returns the vCenters' accounts in the file, one per server.
func (l loaded) logins(p *load.Problems) []login {
	var accounts []login
	for i := range l.Config.VCenters {
		vc := &l.Config.VCenters[i]
		entry := l.EffectiveVCenters[i]
		switch {
		case !entry.V("user").Set:
		case entry.V("secret").Set, entry.V("secretsDirectory").Set:
			p.Warnf(entry.V("password").At, "the credentials come from %s: "+
				"add user and password there if it contains none for %s", elsewhere(vc), vc.Server)
		default:
			accounts = addLogin(accounts, login{vc.Server, vc.User, vc.Password, entry.V("user").At.Line}, entry, p)
		}
	}
	return accounts
}

func elsewhere(vc *config.VCenter) string {
	if vc.Secret == (config.SecretRef{}) {
		return "the directory " + vc.SecretsDirectory
	}
	return "the Secret " + vc.Secret.Namespace + "/" + vc.Secret.Name
}

// addLogin adds an account, or reports why a Secret cannot contain it: a Secret has one account for all
// spellings of a server, and a password in it ends at a line break.
func addLogin(accounts []login, l login, entry *load.Section, p *load.Problems) []login {
	if !load.IsPEM(l.user) && strings.ContainsFunc(l.password.Reveal(), unicode.IsControl) {
		p.Errorf(entry.V("password").At, "contains a line break or another control character, which a password in a Secret cannot contain: "+
			"remove it if it is not part of the password, or change the password")
	}
	written := false
	for _, existing := range accounts {
		if config.CanonicalAddress(existing.server, 0) != config.CanonicalAddress(l.server, 0) {
			continue
		}
		if existing.user != l.user || !existing.password.Equal(l.password) {
			p.Errorf(entry.V("password").At, "belongs to a different account than another entry with the same address, but a Secret contains one account "+
				"per address: create a separate Secret for this entry, or use the same account for both")
		}
		written = written || existing.server == l.server
	}
	if written {
		return accounts
	}
	return append(accounts, l)
}

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
		r := label.section.Clone()
		// Short region and zone rules are required by default.
		if r.IsShort = label.isBuiltIn(); !r.IsShort {
			r.Put("label", label.key)
			r.Put("nested", label.nested)
		}
		s.place(label, r)
	}
	return s
}

type login struct {
	server, user string
	password     config.Password
	line         int
}

var validSecretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// secretManifest returns the manifest of a Secret. The keys are <server>.username and <server>.password.
// A server that is not valid in a key, such as an IPv6 address, is stored as server_N, username_N and
// password_N.
func secretManifest(ref config.SecretRef, logins []login) config.Password {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	data := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key, value string) { data.Content = append(data.Content, scalar(key), quoted(value)) }
	suffix := 0
	for _, l := range logins {
		if validSecretKey.MatchString(l.server + ".username") {
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
