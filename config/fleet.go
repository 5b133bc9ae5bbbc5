package config

import (
	"slices"

	"vzones/topology/quote"
)

// fleet makes a VCenter of each entry, in the order of the file, and of the
// global section's server if no entry is it; that one comes first.
func (c *checker) fleet(s *schema) []VCenter {
	global := c.settings(&s.global)
	var all []settings
	for _, entry := range s.vcenters {
		e := c.settings(entry)
		c.entryServer(&e)
		all = append(all, e)
	}
	if e, alone := c.globalServer(global, all); alone {
		all = slices.Insert(all, 0, e)
	}
	if len(all) == 0 && !s.broken && !global.server.set {
		at := position{path: c.words.vcenters, line: s.vcentersAt.line}
		c.errorf(at, "no vCenter: write at least one %s", c.words.entry)
	}

	c.idleAccount(all, global)
	c.unverified(all, global)
	c.verifiedAgain(all, global)
	var fleet []VCenter
	seen := make(map[string][]VCenter)
	for _, e := range all {
		c.credentials(e, global)
		vc := assemble(e, global)
		c.inherited = append(c.inherited, inherit(e, global))
		vc.At, vc.TrustAt = c.where(e.at), c.where(trustedAt(e, global))
		c.verification(e, global)
		if e.server.usable() && !either(e.port, global.port).bad {
			c.twice(e.server.at, &vc, seen[vc.Address()], all)
			seen[vc.Address()] = append(seen[vc.Address()], vc)
		}
		fleet = append(fleet, vc)
	}
	c.borrowed(s)
	return fleet
}

// twice reports an entry that is another one of the same vCenter in all that could make
// a difference. With another account or other datacenters it is meant, as in the CPI.
func (c *checker) twice(at position, vc *VCenter, others []VCenter, all []settings) {
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	for i := range others {
		o := &others[i]
		account := vc.User == o.User && vc.Secret == o.Secret && vc.SecretsDirectory == o.SecretsDirectory
		if account && slices.Equal(sorted(vc.Datacenters), sorted(o.Datacenters)) {
			first := all[slices.IndexFunc(all, func(e settings) bool { return e.name == o.Name })]
			c.errorf(at, "is the same vCenter as %v, with the same account and the same datacenters: remove one of the two, or give them different ones", first.at)
			return
		}
	}
}

// entryServer lets an entry's name stand for its server where it can be nothing
// but an address. The CPI wants server in any case.
func (c *checker) entryServer(e *settings) {
	switch {
	case e.server.set:
	case e.server.written():
		e.server.bad = true
		c.errorf(e.server.at, "is empty: %s", wantAddress)
	case isFullAddress(e.name):
		address, _ := parseServer(e.name)
		e.server = text{v: address, at: e.at, set: true}
		c.underscore(e.server)
	default:
		e.server.bad = true
		c.errorf(e.at, "has no server: write server with a host name or an IP address "+
			"(the name of the entry stands for it only if it is an IP address or a full host name)")
	}
}

// globalServer returns the vCenter of the global section's server: one more
// than the entries, as in the CPI, unless an entry has that name. Unlike there
// an entry with that server is it too, so that it is not connected to twice.
func (c *checker) globalServer(global settings, entries []settings) (settings, bool) {
	if !global.server.usable() {
		return settings{}, false
	}
	vc := assemble(global, global)
	for _, e := range entries {
		other := assemble(e, global)
		named := e.name == global.server.v
		if !named && (!e.server.usable() || sameServer(other.Server, other.Port) != sameServer(vc.Server, vc.Port)) {
			continue
		}
		c.warnf(global.server.at, "has no effect: the vCenter is the one of %s", e.at.key())
		return settings{}, false
	}
	global.name, global.at = global.server.v, global.server.at
	return global, true
}

// ownSecret says that an entry names a Secret itself, and not the global section for it.
func ownSecret(e, global settings) bool { return e.secret.set && e.secret.at != global.secret.at }

// account returns the user and the password for an entry, each from the entry
// or from the global section. Where a Secret or a directory applies, the entry's
// own alone count, as in the CPI: another vCenter's account is not tried on it.
// The CPI does that only if the file's global section names one of the two.
func account(e, global settings) (user text, password secret) {
	if ownAccount(e, global) {
		return e.user, e.password
	}
	return either(e.user, global.user), either(e.password, global.password)
}

func ownAccount(e, global settings) bool {
	return ownSecret(e, global) || global.apart
}

// directory returns where an entry's credentials are besides its Secret. As in the
// CPI, an entry with a Secret of its own has no directory.
func directory(e, global settings) text {
	if ownSecret(e, global) {
		return text{}
	}
	return global.directory
}

// credentials demands a user with a password, a Secret or a directory.
func (c *checker) credentials(e, global settings) {
	user, password := account(e, global)
	secret, directory := either(e.secret, global.secret), directory(e, global)
	elsewhere := "the Secret"
	if directory.set {
		elsewhere = directory.at.key()
	}
	switch given := secret.set || directory.set; {
	case user.set && password.set:
		c.pair(user, password)
	case e.unsure, global.unsure:
	case user.set && given:
		c.warnf(user.at, "has no effect without a password: the credentials come from %s", elsewhere)
	case password.set && given:
		c.warnf(password.at, "has no effect without a user: the credentials come from %s", elsewhere)
	case user.set:
		c.errorf(user.at, "has no password beside it: write password, or %s instead", c.words.secret())
	case password.set:
		c.errorf(password.at, "has no user beside it: write user, or %s instead", c.words.secret())
	case !given:
		also := ""
		if e.session.line != 0 || global.session.line != 0 {
			also = ": a session manager's address counts in a Secret or a directory alone"
		}
		c.errorf(e.at, "has no credentials: write user and password, or %s, here or %s, or %s there%s",
			c.words.secret(), c.words.global, c.words.directory, also)
	}
}

// idleAccount tells of a global user or password that no vCenter gets.
func (c *checker) idleAccount(all []settings, global settings) {
	for _, e := range all {
		if !ownAccount(e, global) || e.at == global.server.at {
			return
		}
	}
	why := "has no effect: every vCenter has a Secret"
	if global.directory.set {
		why = "has no effect: every vCenter has a Secret or " + global.directory.at.key()
	}
	// Of those in the environment borrowed tells.
	if global.user.set && global.user.at.line != inEnvironment {
		c.warnf(global.user.at, "%s", why)
	}
	if global.password.set && global.password.at.line != inEnvironment {
		c.warnf(global.password.at, "%s", why)
	}
}

// trustedAt returns where the setting is that decides whether a server's
// certificate is trusted, or could be.
func trustedAt(e, global settings) position {
	if thumbprint := either(e.thumbprint, global.thumbprint); thumbprint.v != "" {
		return thumbprint.at
	}
	if authority := either(e.authority, global.authority); authority.set {
		return authority.at
	}
	return e.at
}

// verification tells of settings that insecureFlag makes idle. A session manager is
// verified whatever it says.
func (c *checker) verification(e, global settings) {
	insecure := either(e.insecure, global.insecure)
	if !insecure.v {
		return
	}
	by, which := insecure.at.key(), e.at.path
	if e.at.line == inEnvironment {
		which = "the vCenter of " + e.at.key()
	}
	if authority := either(e.authority, global.authority); authority.v.file != "" || len(authority.v.pem) > 0 {
		c.warnf(authority.at, "has no effect for %s but on a session manager: %s switches the verification of the vCenter's certificate off", which, by)
	}
	if thumbprint := either(e.thumbprint, global.thumbprint); thumbprint.v != "" {
		c.warnf(thumbprint.at, "has no effect for %s: %s switches the verification of the vCenter's certificate off", which, by)
	}
}

// unverified warns of vCenters whose certificates are not verified, once for each
// setting that says so.
func (c *checker) unverified(all []settings, global settings) {
	var settings []position
	names := make(map[position][]string)
	for _, e := range all {
		insecure := either(e.insecure, global.insecure)
		if !insecure.v || insecure.bad {
			continue
		}
		if names[insecure.at] == nil {
			settings = append(settings, insecure.at)
		}
		names[insecure.at] = append(names[insecure.at], quote.Value(e.name))
	}
	for _, at := range settings {
		c.warnf(at, "switches the verification of the server's certificate off for %s: whoever is between vzones and the vCenter gets the password: "+
			"remove it, and trust the certificate by %s", vCenters(names[at]), c.words.trust)
	}
}

// verifiedAgain warns of vCenters whose certificates are verified although the global
// section says otherwise: to the CPI and the CSI driver true there holds for all, but to
// the CPI not in another format's spelling.
func (c *checker) verifiedAgain(all []settings, global settings) {
	on := global.insecure
	if !on.usable() || !on.v || on.at.line == inEnvironment {
		return
	}
	others := c.words.unverified
	if c.dashed(on.at, "insecureFlag") {
		others = ""
	}
	for _, e := range all {
		if e.insecure.usable() && !e.insecure.v {
			c.warnf(e.insecure.at, "the server's certificate is verified, although %s is true: %strust the certificate by %s if no public authority has signed it",
				on.at.key(), others, c.words.trust)
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

// inherit fills in what an entry leaves unset from the global section. Nothing
// else says which of the two counts, but for account.
func inherit(e, global settings) settings {
	user, password := account(e, global)
	if !user.set || !password.set {
		user, password = text{}, secret{}
	}
	e.user, e.password = user, password
	e.directory = directory(e, global)
	if !e.secret.set {
		e.secret, e.namespace = global.secret, global.namespace
	}
	e.port = either(e.port, global.port)
	e.datacenters = either(e.datacenters, global.datacenters)
	e.insecure = either(e.insecure, global.insecure)
	e.authority = either(e.authority, global.authority)
	e.thumbprint = either(e.thumbprint, global.thumbprint)
	e.index = either(e.index, global.index)
	e.roundTrips = either(e.roundTrips, global.roundTrips)
	e.families = either(e.families, global.families)
	return e
}

// assemble makes the VCenter of an entry.
func assemble(e, global settings) VCenter {
	const roundTrips = 3
	e = inherit(e, global)
	return VCenter{
		Name:        e.name,
		Server:      e.server.v,
		Port:        otherwise(e.port, defaultPort),
		Datacenters: slices.Clone(e.datacenters.v),
		User:        e.user.v,
		Password:    e.password.v,
		Secret:      e.secret.v,

		SecretsDirectory: e.directory.v,

		Insecure:   e.insecure.v,
		CAFile:     e.authority.v.file,
		CA:         e.authority.v.pem,
		Thumbprint: e.thumbprint.v,
		Followed:   e.index.v == indexFollowed,
		RoundTrips: otherwise(e.roundTrips, roundTrips),
		IPFamilies: slices.Clone(otherwise(e.families, []string{"ipv4"})),
	}
}

// either is the entry's value where it has one.
func either[T any](entry, global value[T]) value[T] {
	if entry.set {
		return entry
	}
	return global
}

func otherwise[T any](v value[T], unset T) T {
	if v.set {
		return v.v
	}
	return unset
}
