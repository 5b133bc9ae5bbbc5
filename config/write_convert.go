package config

import (
	"strings"
	"unicode"
)

// Convert returns a file of any format in the YAML format, with the credentials
// in the manifest of a Secret instead: Written.Private, with the given name. What
// the file leaves to its global section or to defaults, it leaves to them too, and
// a vCenter that has a Secret already keeps it. Neither the environment nor the CA
// files are read. Its errors are those of Parse; a name that Kubernetes does not
// accept is another.
func Convert(file string, data []byte, ref SecretRef) (*Written, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	l, err := load(file, data, Options{SkipFiles: true})
	if err != nil {
		return nil, err
	}
	p := &problems{file: file}
	logins := l.logins(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	w := &Written{Warnings: l.config.Warnings}
	s := l.withoutCredentials()
	if len(logins) > 0 {
		// A vCenter that took its account from the file has neither Secret nor
		// directory, so that there is no global one either.
		s.global.secretName = text{v: ref.Name, set: true}
		s.global.secretNamespace = text{v: ref.Namespace, set: true}
		w.Private = secretManifest(ref, logins)
	}
	w.Data = yamlWriter{}.file(s, "Written by vzones convert from "+oneLine(file)+".")
	w.Lost = sorted(append(p.warnings, l.together()...), func(w Warning) Error { return Error(w) })
	return w, nil
}

// logins returns the accounts that vCenters have in the file, one for each address.
func (l *loaded) logins(p *problems) []login {
	var all []login
	for i := range l.config.VCenters {
		vc, from := &l.config.VCenters[i], l.fleet[i]
		switch {
		case !from.user.set:
		case from.secret.set, from.directory.set:
			p.warnf(from.password.at, "the credentials come from %s: "+
				"write user and password there if it has none for %s", elsewhere(vc), vc.Server)
		default:
			all = addLogin(all, login{vc.Server, vc.User, vc.Password}, from, p)
		}
	}
	return all
}

// elsewhere names where credentials are that are not in the file.
func elsewhere(vc *VCenter) string {
	if vc.Secret == (SecretRef{}) {
		return "the directory " + vc.SecretsDirectory
	}
	return "the Secret " + vc.Secret.Namespace + "/" + vc.Secret.Name
}

// addLogin adds an account that vzones would find in a Secret: there one account
// serves all ways to write an address, and a line break ends it.
func addLogin(all []login, l login, from settings, p *problems) []login {
	if !isPEM(l.user) && strings.ContainsFunc(l.password.Reveal(), unicode.IsControl) {
		p.errorf(from.password.at, "has a line break or another control character, which no password in a Secret may have: "+
			"remove it if it does not belong to the password, or change the password")
	}
	written := false
	for _, other := range all {
		if sameServer(other.server, 0) != sameServer(l.server, 0) {
			continue
		}
		if other.user != l.user || !other.password.Equal(l.password) {
			p.errorf(from.password.at, "is of another account than that of the same address in another entry, and a Secret has one "+
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
func (l *loaded) withoutCredentials() *schema {
	s := *l.schema
	strip := func(s section) section {
		s.user, s.password = text{}, secret{}
		if s.thumbprint.set && s.thumbprint.v == "" {
			s.thumbprint.v = noThumbprint
		}
		return s
	}
	s.global = strip(s.global)
	s.vcenters = nil
	for _, from := range l.schema.vcenters {
		e := strip(*from)
		s.vcenters = append(s.vcenters, &e)
	}
	if !s.categories.set {
		return &s
	}
	for _, label := range l.labels() {
		r := label.from
		// Region and zone are required without a word.
		r.short, r.required.set = label.builtIn(), !label.builtIn()
		s.place(label, r)
	}
	return &s
}
