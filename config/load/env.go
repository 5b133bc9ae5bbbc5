package load

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"vzones/config"
	"vzones/topology/quote"
)

// Variables returns the names of the environment variables that override a file.
func Variables() (all []string) {
	for _, f := range variables() {
		all = append(all, f.Env)
	}
	return all
}

// variables returns the fields that environment variables of the vSphere CPI override. Those of a Secret
// stand before those of an account, which count only where no Secret does.
func variables() []*config.Field {
	order := []string{"secretName", "secretNamespace", "secretsDirectory", "server", "port", "user", "password"}
	all := slices.Concat(config.FieldsOf(config.SectionGlobal), config.FieldsOf(config.SectionLabels), config.FieldsOf(config.SectionNodes),
		[]*config.Field{{Env: "ENABLE_ALPHA_DUAL_STACK", NoEffect: noSwitch}})
	all = slices.DeleteFunc(all, func(f *config.Field) bool { return f.Env == "" })
	slices.SortStableFunc(all, func(a, b *config.Field) int { // those that are not in order come last
		return cmp.Compare(uint(slices.Index(order, a.Key)), uint(slices.Index(order, b.Key)))
	})
	return all
}

// applyEnvironment puts the values of environment variables in place of the file's. An
// empty one counts as not set, as in the CPI, but for the one whose value means
// nothing there.
func (c *checker) applyEnvironment(environ []string) {
	all := variables()
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	named := c.namesVCenters()
	g := c.Global
	c.isApart = (g.V("secretName").Set || g.V("secretNamespace").Set) != g.V("secretsDirectory").Set
	d := &decoder{Problems: c.Problems}
	sections := map[config.Section]*Section{config.SectionBoth: g, config.SectionGlobal: g, config.SectionLabels: c.labels, config.SectionNodes: c.Nodes}
	for _, f := range all {
		text, given := values[f.Env]
		isAny := f.Env == config.SkipDeletionVariable
		if text == "" && (!given || !isAny) {
			continue
		}
		n := &Node{Text: text, At: variable(f.Env)}
		if isAny {
			n.Style |= AnyValue
		}
		switch {
		case f.NoEffect != "":
			c.Warnf(n.At, "%s", f.NoEffect)
		case !f.Inherited && f.Key != "server":
			d.value(n, f, sections[f.In])
		case !named: // the CPI reads these when its vCenters have inherited, so that they change no other
			c.replace(d, n, f)
		case c.missesAccount(f.Key):
			d.value(n, f, g) // accountFromEnvironment says which vCenters have it
		default:
			c.unused(f, text)
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(all, func(f *config.Field) bool { return f.Env == name })
		if id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_"); ok && !known && id != "" && value != "" {
			c.Errorf(variable(name), "is not read: write the vCenter into the file")
		}
	}
}

// replace takes a value for the only vCenter, which the file does not name, and warns of
// it; of VSPHERE_INSECURE=true warnUnverified does.
func (c *checker) replace(d *decoder, n *Node, f *config.Field) {
	if wrong := unusable(n.Text, f); wrong != "" {
		c.Warnf(n.At, "is ignored, because it is %s, or remove it", wrong)
		return
	}
	what, instead := "sets "+c.Dialect.Key(f.Key), "it"
	if before := c.Global.V(f.Key); before.Set {
		what = "overrides " + before.At.Key()
	}
	if isAccount(f.Key) {
		instead = c.Dialect.secret()
	}
	d.value(n, f, c.Global)
	if f.Key != "insecureFlag" || !c.Global.V(f.Key).IsOn() {
		c.Warnf(n.At, "%s, because the file names no vCenter: write %s %s instead", what, instead, c.Dialect.Global)
	}
}

// unusable says what is wrong with a value that the CPI passes over, and what to write.
func unusable(text string, f *config.Field) string {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	_, notTruth := strconv.ParseBool(text)
	switch {
	case f.Kind == config.KindInt && (err != nil || int(n) < f.Min || int(n) > f.Max):
		return "not a " + f.What + ": write " + f.Limits()
	case f.Kind == config.KindBool && notTruth != nil:
		return "neither true nor false: write one of the two"
	}
	return ""
}

func isAccount(key string) bool { return key == "user" || key == "password" }

// namesVCenters reports whether the file itself names a vCenter, or tries to.
func (c *checker) namesVCenters() bool {
	server := c.Global.V("server")
	return len(c.vcenters.Sections) > 0 || c.vcenters.Bad || server.Set && server.At.Line != InEnvironment
}

// missesAccount reports whether a key is of an account, and the global section has
// neither its half nor anything in its place. A file whose vCenters would inherit it
// is refused by the CPI, so that it means nothing else there.
func (c *checker) missesAccount(key string) bool {
	g := c.Global
	isElsewhere := g.V("secretName").Set || g.V("secretNamespace").Set || g.V("secretsDirectory").Set
	return !isElsewhere && isAccount(key) && !g.V(key).Set
}

// unused warns of a variable that changes nothing, since the file names vCenters.
func (c *checker) unused(f *config.Field, text string) {
	const why = "has no effect, because the file names vCenters: remove it"
	at := variable(f.Env)
	on, _ := strconv.ParseBool(text)
	switch {
	case isAccount(f.Key):
		// The file says where the credentials come from, or a variable where the file has nothing like it.
		by := "the file"
		for _, key := range []string{"secretsDirectory", "secretNamespace", "secretName"} {
			if v := c.Global.V(key); v.Set && v.At.Line == InEnvironment {
				by = v.At.Key()
			} else if v.Set {
				by = "the file"
				break
			}
		}
		c.Warnf(at, "has no effect, because %s says where the credentials come from: remove it", by)
	case f.Key == "insecureFlag" && on:
		c.Warnf(at, why+", and trust the certificate by %s", c.Dialect.Trust)
	default:
		c.Warnf(at, why+", or write %s %s", c.Dialect.Key(f.Key), c.Dialect.Global)
	}
}

// accountFromEnvironment warns which vCenters of the file have an account from the environment.
func (c *checker) accountFromEnvironment() {
	if !c.namesVCenters() {
		return
	}
	have := make(map[Position][]string)
	for _, e := range c.Fleet {
		for _, key := range []string{"user", "password"} {
			have[e.V(key).At] = append(have[e.V(key).At], quote.Value(e.Name))
		}
	}
	for _, key := range []string{"user", "password"} {
		switch at := c.Global.V(key).At; {
		case at.Line != InEnvironment:
		case have[at] == nil:
			c.unused(config.FieldOf(config.SectionGlobal, key), "")
		default:
			c.Warnf(at, "is the %s for %s, because the file has none there: write %s %s instead", key, vCenters(have[at]), c.Dialect.secret(), c.Dialect.Global)
		}
	}
}
