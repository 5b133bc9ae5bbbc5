package load

import (
	"cmp"
	"slices"

	"vzones/config"
	"vzones/internal/quote"
)

type fleetChecker struct {
	values
	*Document
	ca      *caReader
	entries *Value
	// hasSeparateAccount is true if the file's global section names a Secret or a directory but
	// not both, so that entries do not inherit its account.
	hasSeparateAccount bool
}

// makeFleet creates a VCenter for each entry, in file order, after one for the global section's server
// unless an entry is that vCenter.
func (c *fleetChecker) makeFleet() []config.VCenter {
	c.settings(c.Global)
	var entries []*Section
	for _, e := range c.entries.Sections {
		c.settings(e)
		e = e.Clone() // The file's section must not change.
		c.entryServer(e)
		entries = append(entries, e)
	}
	if c.isGlobalSeparate(entries) {
		e := c.Global.Clone()
		e.Name = c.Global.V("server").Text
		e.At = c.Global.V("server").At
		entries = slices.Insert(entries, 0, e)
	}
	if len(entries) == 0 && !c.entries.Bad && !c.Global.V("server").Set {
		c.Errorf(Position{Path: c.Dialect.VCenters, Line: c.entries.At.Line}, "no vCenter: write at least one %s", c.Dialect.Entry)
	}
	c.unusedAccount(entries)
	for _, e := range entries {
		c.EffectiveVCenters = append(c.EffectiveVCenters, c.inherit(e))
	}
	c.warnUnverified()
	c.warnVerified(entries)
	var fleet []config.VCenter
	byAddress := make(map[string][]int)
	for i, e := range entries {
		inherited := c.EffectiveVCenters[i]
		server := e.V("server")
		vc := config.VCenter{Name: e.Name, At: c.where(e.At), TrustAt: c.where(trustedAt(inherited))}
		assign(inherited, nil, &vc)
		c.trustWithoutEffect(inherited)
		fleet = append(fleet, vc)
		if server.Usable() && !inherited.V("port").Bad {
			sameAddress := byAddress[vc.Address()]
			if first := slices.IndexFunc(sameAddress, func(o int) bool { return isSameVCenter(&vc, &fleet[o]) }); first >= 0 {
				c.Errorf(server.At, "is the same vCenter as %v, with the same account and the same datacenters: "+
					"remove one of them, or change its account or datacenters", entries[sameAddress[first]].At)
			}
			byAddress[vc.Address()] = append(sameAddress, i)
		}
	}
	return fleet
}

func (c *fleetChecker) settings(s *Section) {
	c.check(s)
	s.Put("authority", c.ca.certificates(s.V("caFile"), s.V("caData")))
	s.Put("secret", c.secret(s.V("secretName"), s.V("secretNamespace")))
}

// secret requires name and namespace together.
func (c *fleetChecker) secret(name, namespace *Value) *Value {
	v := &Value{At: name.At, Set: name.Set || namespace.Set, Bad: name.Bad || namespace.Bad}
	lacks := "secretNamespace"
	if namespace.Set {
		v.At = namespace.At
		lacks = "secretName"
	}
	if name.Set != namespace.Set {
		key := c.Dialect.Key(lacks)
		if v.At.Line == InEnvironment {
			key = config.FieldOf(config.SectionGlobal, lacks).Env
		}
		c.bad(v, "is set without %s: write both in the same place", key)
	}
	return v
}

// isSameVCenter compares entries with one address. As in the CPI, different accounts or datacenters
// make different vCenters (decision 0040).
func isSameVCenter(a, b *config.VCenter) bool {
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	return a.User == b.User && a.Secret == b.Secret && a.SecretsDirectory == b.SecretsDirectory &&
		slices.Equal(sorted(a.Datacenters), sorted(b.Datacenters))
}

// entryServer uses an entry's name as its server if the name can only be an address.
func (c *fleetChecker) entryServer(e *Section) {
	server := e.V("server")
	switch {
	case server.Set:
	case server.isWritten():
		c.bad(server, "is empty: %s", wantAddress)
	case isFullAddress(e.Name):
		address, _ := parseServer(e.Name)
		e.Put("server", &Value{Text: address, Data: address, At: e.At, Set: true})
		c.underscore(e.At, address)
	default:
		c.Errorf(e.At, "has no server: write server with a host name or an IP address "+
			"(the entry's name replaces it only if it is an IP address or a full host name)")
	}
}

// isGlobalSeparate reports whether no entry has the name, as in the CPI, or the address of the global
// section's server.
func (c *fleetChecker) isGlobalSeparate(entries []*Section) bool {
	server := c.Global.V("server")
	if !server.Usable() {
		return false
	}
	address := func(s *Section) string {
		port, _ := firstSet(s.V("port"), c.Global.V("port")).Data.(int)
		return config.CanonicalAddress(s.V("server").Text, cmp.Or(port, config.DefaultPort))
	}
	for _, e := range entries {
		if e.Name == server.Text || e.V("server").Usable() && address(e) == address(c.Global) {
			c.Warnf(server.At, "has no effect: the vCenter is already defined by %s", e.At.Key())
			return false
		}
	}
	return true
}

func (c *fleetChecker) hasOwnSecret(e *Section) bool {
	return e.V("secret").Set && e.V("secret").At != c.Global.V("secret").At
}

func (c *fleetChecker) hasOwnAccount(e *Section) bool {
	return c.hasOwnSecret(e) || c.hasSeparateAccount
}

// inherit returns an entry with the settings of the global section: user and password separately, but
// neither if the entry has its own account. As in the CPI, an entry with its own Secret has no
// directory.
func (c *fleetChecker) inherit(e *Section) *Section {
	inherited := e.Clone()
	inherited.In = config.SectionGlobal
	for _, f := range config.FieldsOf(config.SectionEntry) {
		if f.Inherited && !e.V(f.Key).Set {
			inherited.Put(f.Key, c.Global.V(f.Key))
		}
	}
	if c.hasOwnAccount(e) {
		inherited.Put("user", e.V("user"))
		inherited.Put("password", e.V("password"))
	}
	if !c.hasOwnSecret(e) {
		for _, key := range []string{"secret", "secretName", "secretNamespace", "secretsDirectory"} {
			inherited.Put(key, c.Global.V(key))
		}
	}
	c.credentials(e, inherited)
	trust := firstSet(e.V("authority"), c.Global.V("authority"))
	inherited.Put("authority", trust)
	inherited.Put("caFile", &Value{At: trust.At, Set: trust.Set, Bad: trust.Bad, Data: trust.Text})
	inherited.Put("caData", &Value{At: trust.At, Set: trust.Set, Bad: trust.Bad, Data: trust.Data})
	return inherited
}

// credentials requires a user with a password, a Secret or a directory. It clears half an account.
func (c *fleetChecker) credentials(e, inherited *Section) {
	user := inherited.V("user")
	password := inherited.V("password")
	directory := inherited.V("secretsDirectory")
	elsewhere := "the Secret"
	if directory.Set {
		elsewhere = directory.At.Key()
	}
	given := inherited.V("secret").Set || directory.Set
	switch {
	case user.Set && password.Set:
		c.pair(user, password)
		return
	case e.Unsure, c.Global.Unsure:
	case user.Set && given:
		c.Warnf(user.At, "has no effect without a password: the credentials come from %s", elsewhere)
	case password.Set && given:
		c.Warnf(password.At, "has no effect without a user: the credentials come from %s", elsewhere)
	case user.Set:
		c.Errorf(user.At, "is set without a password: write password, or %s instead", c.Dialect.secret())
	case password.Set:
		c.Errorf(password.At, "is set without a user: write user, or %s instead", c.Dialect.secret())
	case !given:
		c.Errorf(e.At, "has no credentials: write user and password, or %s, here or %s, or %s there",
			c.Dialect.secret(), c.Dialect.Global, c.Dialect.Key("secretsDirectory"))
	}
	inherited.Put("user", new(Value))
	inherited.Put("password", new(Value))
}

func (c *fleetChecker) unusedAccount(entries []*Section) {
	if slices.ContainsFunc(entries, func(e *Section) bool { return !c.hasOwnAccount(e) || e.At == c.Global.V("server").At }) {
		return
	}
	why := "has no effect: every vCenter has a Secret"
	if directory := c.Global.V("secretsDirectory"); directory.Set {
		why += " or " + directory.At.Key()
	}
	for _, key := range []string{"user", "password"} {
		if v := c.Global.V(key); v.Set && v.At.Line != InEnvironment { // applyEnvironment warns of variables.
			c.Warnf(v.At, "%s", why)
		}
	}
}

func trustedAt(e *Section) Position {
	switch {
	case e.V("thumbprint").Text != "":
		return e.V("thumbprint").At
	case e.V("authority").Set:
		return e.V("authority").At
	}
	return e.At
}

// trustWithoutEffect warns of settings that insecureFlag overrides. That flag does not apply to a
// session manager.
func (c *fleetChecker) trustWithoutEffect(e *Section) {
	insecure := e.V("insecureFlag")
	if !insecure.IsOn() {
		return
	}
	setting := insecure.At.Key()
	subject := e.At.Path
	if e.At.Line == InEnvironment {
		subject = "the vCenter of " + e.At.Key()
	}
	if trust := e.V("authority"); trust.Data != nil {
		c.Warnf(trust.At, "has no effect for %s except on a session manager: %s disables verification of the vCenter's certificate", subject, setting)
	}
	if e.V("thumbprint").Text != "" {
		c.Warnf(e.V("thumbprint").At, "has no effect for %s: %s disables verification of the vCenter's certificate", subject, setting)
	}
}

func (c *fleetChecker) warnUnverified() {
	var settings []Position
	names := make(map[Position][]string)
	for _, e := range c.EffectiveVCenters {
		insecure := e.V("insecureFlag")
		if !insecure.IsOn() || insecure.Bad {
			continue
		}
		if names[insecure.At] == nil {
			settings = append(settings, insecure.At)
		}
		names[insecure.At] = append(names[insecure.At], quote.Value(e.Name))
	}
	for _, setting := range settings {
		subject := "vCenter "
		if len(names[setting]) > 1 {
			subject = "vCenters "
		}
		c.Warnf(setting, "disables certificate verification for %s%s: anyone between vzones and the vCenter can capture the password: "+
			"remove it, and trust the certificate with %s", subject, quote.Some(names[setting], 5), c.Dialect.Trust)
	}
}

// warnVerified warns of verified vCenters below a global insecureFlag, which the CPI and the CSI
// driver apply to all vCenters.
func (c *fleetChecker) warnVerified(entries []*Section) {
	global := c.Global.V("insecureFlag")
	if !global.Usable() || !global.IsOn() || global.At.Line == InEnvironment {
		return
	}
	for _, e := range entries {
		if flag := e.V("insecureFlag"); flag.Usable() && !flag.IsOn() {
			c.Warnf(flag.At, "the server's certificate is verified, although %s is true: %strust the certificate with %s if no public CA has signed it",
				global.At.Key(), c.Dialect.Unverified, c.Dialect.Trust)
		}
	}
}
