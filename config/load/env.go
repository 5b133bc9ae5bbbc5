package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"vzones/config"
)

// Variables returns the names of the environment variables that override a file.
func Variables() (all []string) {
	for _, f := range variables() {
		all = append(all, f.Env)
	}
	return all
}

// variables returns the fields that environment variables of the vSphere CPI override.
func variables() []*config.Field {
	all := slices.Concat(config.FieldsOf(config.SectionGlobal), config.FieldsOf(config.SectionLabels), config.FieldsOf(config.SectionNodes),
		[]*config.Field{{Env: "ENABLE_ALPHA_DUAL_STACK", NoEffect: noSwitch}})
	return slices.DeleteFunc(all, func(f *config.Field) bool { return f.Env == "" })
}

// applyEnvironment puts the values of environment variables in place of the file's. An empty one counts as
// not set, as in the CPI, except SkipDeletionVariable. As in the CPI, a variable for a key that vCenters
// inherit changes no vCenter that the file names.
func (c *checker) applyEnvironment(environ []string) {
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	c.checkProxy(values)
	g := c.Global
	isNamed := len(c.vcenters.Sections) > 0 || c.vcenters.Bad || g.V("server").Set
	c.isApart = (g.V("secretName").Set || g.V("secretNamespace").Set) != g.V("secretsDirectory").Set
	d := &decoder{Problems: c.Problems}
	sections := map[config.Section]*Section{config.SectionBoth: g, config.SectionGlobal: g, config.SectionLabels: c.labels, config.SectionNodes: c.Nodes}
	for _, f := range variables() {
		text, isGiven := values[f.Env]
		n := &rawValue{text: text, at: variable(f.Env)}
		on, notBool := strconv.ParseBool(text)
		if f.Env == config.SkipDeletionVariable && isGiven {
			if !on {
				c.Warnf(n.at, "counts as true, as in the vSphere CPI: any value does")
			}
			n.text = "true"
		} else if f.Kind == config.KindBool && notBool == nil {
			n.text = strconv.FormatBool(on)
		}
		key, before := c.Dialect.Key(f.Key), g.V(f.Key)
		write, instead := key, "it"
		if f.Key == "user" || f.Key == "password" {
			write, instead = c.Dialect.secret(), c.Dialect.secret()
		}
		number, notInt := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case n.text == "":
		case f.NoEffect != "":
			c.Warnf(n.at, "%s", f.NoEffect)
		case !f.Inherited && f.Key != "server":
			d.value(n, f, sections[f.In])
		case isNamed && f.Key == "insecureFlag" && on:
			c.Warnf(n.at, "has no effect, because the file names vCenters: remove it, and trust the certificate by %s", c.Dialect.Trust)
		case isNamed:
			c.Warnf(n.at, "has no effect, because the file names vCenters: remove it, or write %s %s", write, c.Dialect.Global)
		case f.Kind == config.KindInt && (notInt != nil || number < f.Min || number > f.Max):
			c.Warnf(n.at, "is ignored, because it is not a %s: write %s, or remove it", f.What, f.Limits())
		case f.Kind == config.KindBool && notBool != nil:
			c.Warnf(n.at, "is ignored, because it is neither true nor false: write one of the two, or remove it")
		default:
			if d.value(n, f, g); f.Key == "insecureFlag" && on { // warnUnverified warns of it
				continue
			}
			what := "sets " + key
			if before.Set {
				what = "overrides " + before.At.Key()
			}
			c.Warnf(n.at, "%s, because the file names no vCenter: write %s %s instead", what, instead, c.Dialect.Global)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		id, isOfVCenter := strings.CutPrefix(name, "VSPHERE_VCENTER_")
		if isOfVCenter && id != "" && values[name] != "" && !slices.Contains(Variables(), name) {
			c.Errorf(variable(name), "is not read: write the vCenter into the file")
		}
	}
}
