package validate

import (
	"slices"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology/quote"
)

// fleet makes a VCenter of each entry, in the order of the file, and of the
// global section's server if no entry is it; that one comes first.
func (c *checker) fleet(s *schema.File) []config.VCenter {
	global := c.settings(&s.Global)
	var all []Settings
	for _, entry := range s.VCenters {
		e := c.settings(entry)
		c.entryServer(&e)
		all = append(all, e)
	}
	if e, alone := c.globalServer(global, all); alone {
		all = slices.Insert(all, 0, e)
	}
	if len(all) == 0 && !s.Broken && !global.Server.Set {
		at := problem.Position{Path: c.Words.VCenters, Line: s.VCentersAt.Line}
		c.Errorf(at, "no vCenter: write at least one %s", c.Words.Entry)
	}

	c.unusedAccount(all, global)
	c.warnUnverified(all, global)
	c.warnVerified(all, global)
	var fleet []config.VCenter
	seen := make(map[string][]config.VCenter)
	for _, e := range all {
		c.credentials(e, global)
		vc := assemble(e, global)
		c.inherited = append(c.inherited, inherit(e, global))
		vc.At, vc.TrustAt = c.Where(e.At), c.Where(trustedAt(e, global))
		c.trustWithoutEffect(e, global)
		if e.Server.Usable() && !schema.Either(e.Port, global.Port).Bad {
			c.sameVCenter(e.Server.At, &vc, seen[vc.Address()], all)
			seen[vc.Address()] = append(seen[vc.Address()], vc)
		}
		fleet = append(fleet, vc)
	}
	c.accountFromEnvironment(s)
	return fleet
}

// sameVCenter reports an entry that is another one of the same vCenter in all that could make
// a difference. With another account or other datacenters it is meant, as in the CPI.
func (c *checker) sameVCenter(at problem.Position, vc *config.VCenter, others []config.VCenter, all []Settings) {
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	for i := range others {
		o := &others[i]
		account := vc.User == o.User && vc.Secret == o.Secret && vc.SecretsDirectory == o.SecretsDirectory
		if account && slices.Equal(sorted(vc.Datacenters), sorted(o.Datacenters)) {
			first := all[slices.IndexFunc(all, func(e Settings) bool { return e.Name == o.Name })]
			c.Errorf(at, "is the same vCenter as %v, with the same account and the same datacenters: remove one of the two, or give them different ones", first.At)
			return
		}
	}
}

// entryServer lets an entry's name stand for its server where it can be nothing
// but an address. The CPI wants server in any case.
func (c *checker) entryServer(e *Settings) {
	switch {
	case e.Server.Set:
	case e.Server.Written():
		e.Server.Bad = true
		c.Errorf(e.Server.At, "is empty: %s", check.WantAddress)
	case check.IsFullAddress(e.Name):
		address, _ := check.ParseServer(e.Name)
		e.Server = schema.Text{V: address, At: e.At, Set: true}
		c.underscore(e.Server)
	default:
		e.Server.Bad = true
		c.Errorf(e.At, "has no server: write server with a host name or an IP address "+
			"(the name of the entry stands for it only if it is an IP address or a full host name)")
	}
}

// globalServer returns the vCenter of the global section's server: one more
// than the entries, as in the CPI, unless an entry has that name. Unlike there
// an entry with that server is it too, so that it is not connected to twice.
func (c *checker) globalServer(global Settings, entries []Settings) (Settings, bool) {
	if !global.Server.Usable() {
		return Settings{}, false
	}
	vc := assemble(global, global)
	for _, e := range entries {
		other := assemble(e, global)
		named := e.Name == global.Server.V
		if !named && (!e.Server.Usable() || check.SameServer(other.Server, other.Port) != check.SameServer(vc.Server, vc.Port)) {
			continue
		}
		c.Warnf(global.Server.At, "has no effect: the vCenter is the one of %s", e.At.Key())
		return Settings{}, false
	}
	global.Name, global.At = global.Server.V, global.Server.At
	return global, true
}

// ownSecret reports whether an entry names a Secret itself, and not the global section for it.
func ownSecret(e, global Settings) bool {
	return e.SecretRef.Set && e.SecretRef.At != global.SecretRef.At
}

// account returns the user and the password for an entry, each from the entry
// or from the global section. Where a Secret or a directory applies, the entry's
// own alone count, as in the CPI: another vCenter's account is not tried on it.
// The CPI does that only if the file's global section names one of the two.
func account(e, global Settings) (user schema.Text, password schema.Secret) {
	if ownAccount(e, global) {
		return e.User, e.Password
	}
	return schema.Either(e.User, global.User), schema.Either(e.Password, global.Password)
}

func ownAccount(e, global Settings) bool {
	return ownSecret(e, global) || global.Apart
}

// directory returns where an entry's credentials are besides its Secret. As in the
// CPI, an entry with a Secret of its own has no directory.
func directory(e, global Settings) schema.Text {
	if ownSecret(e, global) {
		return schema.Text{}
	}
	return global.SecretsDirectory
}

// credentials demands a user with a password, a Secret or a directory.
func (c *checker) credentials(e, global Settings) {
	user, password := account(e, global)
	secret, directory := schema.Either(e.SecretRef, global.SecretRef), directory(e, global)
	elsewhere := "the Secret"
	if directory.Set {
		elsewhere = directory.At.Key()
	}
	switch given := secret.Set || directory.Set; {
	case user.Set && password.Set:
		c.pair(user, password)
	case e.Unsure, global.Unsure:
	case user.Set && given:
		c.Warnf(user.At, "has no effect without a password: the credentials come from %s", elsewhere)
	case password.Set && given:
		c.Warnf(password.At, "has no effect without a user: the credentials come from %s", elsewhere)
	case user.Set:
		c.Errorf(user.At, "has no password beside it: write password, or %s instead", c.Words.Secret())
	case password.Set:
		c.Errorf(password.At, "has no user beside it: write user, or %s instead", c.Words.Secret())
	case !given:
		also := ""
		if e.Session.Line != 0 || global.Session.Line != 0 {
			also = ": a session manager's address counts in a Secret or a directory alone"
		}
		c.Errorf(e.At, "has no credentials: write user and password, or %s, here or %s, or %s there%s",
			c.Words.Secret(), c.Words.Global, c.Words.Key("secretsDirectory"), also)
	}
}

// unusedAccount warns of a global user or password that no vCenter gets.
func (c *checker) unusedAccount(all []Settings, global Settings) {
	for _, e := range all {
		if !ownAccount(e, global) || e.At == global.Server.At {
			return
		}
	}
	why := "has no effect: every vCenter has a Secret"
	if global.SecretsDirectory.Set {
		why = "has no effect: every vCenter has a Secret or " + global.SecretsDirectory.At.Key()
	}
	// accountFromEnvironment warns of those in the environment.
	if global.User.Set && global.User.At.Line != problem.InEnvironment {
		c.Warnf(global.User.At, "%s", why)
	}
	if global.Password.Set && global.Password.At.Line != problem.InEnvironment {
		c.Warnf(global.Password.At, "%s", why)
	}
}

// trustedAt returns where the setting is that decides whether a server's
// certificate is trusted, or could be.
func trustedAt(e, global Settings) problem.Position {
	if thumbprint := schema.Either(e.Thumbprint, global.Thumbprint); thumbprint.V != "" {
		return thumbprint.At
	}
	if authority := schema.Either(e.Authority, global.Authority); authority.Set {
		return authority.At
	}
	return e.At
}

// trustWithoutEffect warns of settings that have no effect beside insecureFlag. A session manager
// is verified whatever it says.
func (c *checker) trustWithoutEffect(e, global Settings) {
	insecure := schema.Either(e.Insecure, global.Insecure)
	if !insecure.V {
		return
	}
	by, which := insecure.At.Key(), e.At.Path
	if e.At.Line == problem.InEnvironment {
		which = "the vCenter of " + e.At.Key()
	}
	if authority := schema.Either(e.Authority, global.Authority); authority.V.File != "" || len(authority.V.pem) > 0 {
		c.Warnf(authority.At, "has no effect for %s but on a session manager: %s switches the verification of the vCenter's certificate off", which, by)
	}
	if thumbprint := schema.Either(e.Thumbprint, global.Thumbprint); thumbprint.V != "" {
		c.Warnf(thumbprint.At, "has no effect for %s: %s switches the verification of the vCenter's certificate off", which, by)
	}
}

// warnUnverified warns of vCenters whose certificates are not verified, once for each
// setting that says so.
func (c *checker) warnUnverified(all []Settings, global Settings) {
	var settings []problem.Position
	names := make(map[problem.Position][]string)
	for _, e := range all {
		insecure := schema.Either(e.Insecure, global.Insecure)
		if !insecure.V || insecure.Bad {
			continue
		}
		if names[insecure.At] == nil {
			settings = append(settings, insecure.At)
		}
		names[insecure.At] = append(names[insecure.At], quote.Value(e.Name))
	}
	for _, at := range settings {
		c.Warnf(at, "switches the verification of the server's certificate off for %s: whoever is between vzones and the vCenter gets the password: "+
			"remove it, and trust the certificate by %s", vCenters(names[at]), c.Words.Trust)
	}
}

// warnVerified warns of vCenters whose certificates are verified although the global
// section says otherwise: to the CPI and the CSI driver true there holds for all, but to
// the CPI not in another format's spelling.
func (c *checker) warnVerified(all []Settings, global Settings) {
	on := global.Insecure
	if !on.Usable() || !on.V || on.At.Line == problem.InEnvironment {
		return
	}
	others := c.Words.Unverified
	if c.Dashed(on.At, "insecureFlag") {
		others = ""
	}
	for _, e := range all {
		if e.Insecure.Usable() && !e.Insecure.V {
			c.Warnf(e.Insecure.At, "the server's certificate is verified, although %s is true: %strust the certificate by %s if no public authority has signed it",
				on.At.Key(), others, c.Words.Trust)
		}
	}
}

// vCenters lists vCenters whose names are quoted.
func vCenters(names []string) string {
	const most = 5
	which := "vCenter "
	if len(names) > 1 {
		which = "vCenters "
	}
	return which + quote.Some(names, most)
}

// inherit fills in what an entry leaves unset from the global section: as the fields are
// described, but for the account, and for what several fields mean together.
func inherit(e, global Settings) Settings {
	user, password := account(e, global)
	if !user.Set || !password.Set {
		user, password = schema.Text{}, schema.Secret{}
	}
	e.Inherit(&global.Section)
	e.User, e.Password = user, password
	e.SecretsDirectory = directory(e, global)
	if !e.SecretRef.Set {
		e.SecretRef, e.SecretNamespace = global.SecretRef, global.SecretNamespace
	}
	e.DatacenterList = schema.Either(e.DatacenterList, global.DatacenterList)
	e.Authority = schema.Either(e.Authority, global.Authority)
	e.Families = schema.Either(e.Families, global.Families)
	return e
}

// assemble makes the VCenter of an entry.
func assemble(e, global Settings) config.VCenter {
	e = inherit(e, global)
	return config.VCenter{
		Name:        e.Name,
		Server:      e.Server.V,
		Port:        schema.Otherwise(e.Port, schema.DefaultPort),
		Datacenters: slices.Clone(e.DatacenterList.V),
		User:        e.User.V,
		Password:    e.Password.V,
		Secret:      e.SecretRef.V,

		SecretsDirectory: e.SecretsDirectory.V,

		Insecure:   e.Insecure.V,
		CAFile:     e.Authority.V.File,
		CA:         e.Authority.V.pem,
		Thumbprint: e.Thumbprint.V,
		RoundTrips: schema.Otherwise(e.RoundTrips, schema.DefaultRoundTrips),
		IPFamilies: slices.Clone(schema.Otherwise(e.Families, schema.DefaultFamilies())),
	}
}

// accountFromEnvironment warns which vCenters of the file have an account from the environment.
func (c *checker) accountFromEnvironment(s *schema.File) {
	if !s.NamesVCenters() {
		return
	}
	have := make(map[problem.Position][]string)
	for _, e := range c.inherited {
		for _, at := range []problem.Position{e.User.At, e.Password.At} {
			have[at] = append(have[at], quote.Value(e.Name))
		}
	}
	for _, v := range s.Variables() {
		at, _ := schema.Given(v.Into)
		switch {
		case v.Variable != schema.VariableUser && v.Variable != schema.VariablePassword, at != problem.Variable(v.Variable):
		case have[at] == nil:
			s.Unused(c.List, schema.Text{At: at}, v)
		default:
			c.Warnf(at, "is the %s for %s, because the file has none there: write %s %s instead",
				v.Name, vCenters(have[at]), c.Words.Secret(), c.Words.Global)
		}
	}
}
