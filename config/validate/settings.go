package validate

import (
	"path/filepath"
	"slices"
	"strings"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
)

func (c *checker) settings(s *schema.Section) Settings {
	c.user(&s.User)
	c.password(&s.Password)
	if s.Server.Usable() {
		address, wrong := check.ParseServer(s.Server.V)
		s.Server.Bad = c.reject(s.Server, wrong)
		s.Server.V = address
		c.underscore(s.Server)
	}
	if s.Thumbprint.Usable() {
		thumbprint, wrong := "", (*check.Mistake)(nil)
		if !strings.EqualFold(strings.TrimSpace(s.Thumbprint.V), check.NoThumbprint) {
			thumbprint, wrong = check.ParseThumbprint(s.Thumbprint.V)
		}
		s.Thumbprint.Bad = c.reject(s.Thumbprint, wrong)
		s.Thumbprint.V = thumbprint
	}
	own := Settings{
		Section: *s, DatacenterList: c.datacenters(s.Datacenters), Families: c.families(s.IPFamilies),
		Authority: c.authority(s.CAFile, s.CAData), SecretRef: c.secret(s.SecretName, s.SecretNamespace),
	}
	own.SecretsDirectory = c.directory(s.SecretsDirectory)
	return own
}

// underscore warns of a server that is taken although its name has a _.
func (c *checker) underscore(server schema.Text) {
	if server.Usable() && strings.Contains(server.V, "_") {
		c.Warnf(server.At, "has a _, which RFC 1123 does not allow in the name of a host: it is taken as it is, "+
			"but DNS servers, proxies and authorities that sign certificates may refuse it")
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
		wrong = &check.Mistake{What: "is not an absolute path: write one that begins with /, such as /etc/cloud/secrets", Detail: check.Found(dir.V)}
	}
	dir.Bad = c.reject(dir, wrong)
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
		c.Errorf(name.At, "has no %s beside it: write both in the same place", beside(name.At, "VSPHERE_SECRET_NAMESPACE", c.Words.Key("secretNamespace")))
	case namespace.Set && !name.Set:
		v.At, v.Bad = namespace.At, true
		c.Errorf(namespace.At, "has no %s beside it: write both in the same place", beside(namespace.At, "VSPHERE_SECRET_NAME", c.Words.Key("secretName")))
	}
	// Neither is shown: perhaps the secret itself was written there.
	if name.Usable() && !check.IsSecretName(name.V) {
		v.Bad = c.reject(name, &check.Mistake{What: "is not a valid name of a Secret: write lower-case letters, digits, - and ."})
	}
	if namespace.Usable() && !check.IsNamespace(namespace.V) {
		v.Bad = c.reject(namespace, &check.Mistake{What: "is not a valid name of a namespace: write lower-case letters, digits and -"})
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
			v.Bad = c.reject(element, &check.Mistake{What: "is not a valid IP family: write ipv4 or ipv6, " + several, Detail: check.Found(element.V)})
		case slices.Contains(v.V, family):
			v.Bad = true
			c.Errorf(element.At, "is listed twice: remove one of the two")
		default:
			v.V = append(v.V, family)
		}
	}
	return v
}
