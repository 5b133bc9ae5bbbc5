package load

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"vzones/config"
)

// Variables returns the environment variables that override a file.
func Variables() (all []string) {
	for _, f := range variables() {
		all = append(all, f.Env)
	}
	return all
}

func variables() []*config.Field {
	fields := slices.Concat(config.FieldsOf(config.SectionGlobal), config.FieldsOf(config.SectionLabels), config.FieldsOf(config.SectionNodes),
		[]*config.Field{{Env: "ENABLE_ALPHA_DUAL_STACK", NoEffect: noSwitch}})
	return slices.DeleteFunc(fields, func(f *config.Field) bool { return f.Env == "" })
}

// applyEnvironment overrides the file's values. As in the CPI, an empty variable is ignored (except
// SkipDeletionVariable), and a variable for an inherited key affects no vCenter in the file.
func (c *checker) applyEnvironment(environ []string) {
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	c.checkProxy(values)
	g := c.Global
	isNamed := len(c.vcenters.Sections) > 0 || c.vcenters.Bad || g.V("server").Set
	c.fleet.hasSeparateAccount = (g.V("secretName").Set || g.V("secretNamespace").Set) != g.V("secretsDirectory").Set
	d := &decoder{Problems: c.Problems}
	sections := map[config.Section]*Section{config.SectionBoth: g, config.SectionGlobal: g, config.SectionLabels: c.labels, config.SectionNodes: c.Nodes}
	for _, f := range variables() {
		text, isGiven := values[f.Env]
		n := &rawValue{text: text, pos: variable(f.Env)}
		isTrue, notBool := strconv.ParseBool(text)
		if f.Env == config.SkipDeletionVariable && isGiven {
			n.text = "true"
		} else if f.Kind == config.KindBool && notBool == nil {
			n.text = strconv.FormatBool(isTrue)
		}
		key := c.Dialect.Key(f.Key)
		previous := g.V(f.Key)
		write := key
		instead := "it"
		if f.Key == "user" || f.Key == "password" {
			write = c.Dialect.secret()
			instead = c.Dialect.secret()
		}
		number, notInt := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case n.text == "":
		case f.NoEffect != "":
			c.Warnf(n.pos, "%s", f.NoEffect)
		case !f.Inherited && f.Key != "server":
			previous := sections[f.In].V(f.Key)
			d.value(n, f, sections[f.In])
			c.warnOverride(n.pos, f, key, previous)
		case isNamed && f.Key == "insecureFlag" && isTrue:
			c.Warnf(n.pos, "has no effect, because the file defines vCenters: remove it, and trust the certificate with %s", c.Dialect.Trust)
		case isNamed:
			c.Warnf(n.pos, "has no effect, because the file defines vCenters: remove it, or write %s %s", write, c.Dialect.Global)
		case f.Kind == config.KindInt && (notInt != nil || number < f.Min || number > f.Max):
			c.Warnf(n.pos, "is ignored, because it is not a valid %s: write %s, or remove it", f.Noun, f.Limits())
		case f.Kind == config.KindBool && notBool != nil:
			c.Warnf(n.pos, "is ignored, because it is neither true nor false: write one of them, or remove it")
		default:
			if d.value(n, f, g); f.Key == "insecureFlag" && isTrue { // warnUnverified reports it.
				continue
			}
			c.Warnf(n.pos, "%s, because the file defines no vCenter: write %s %s instead", effectOn(key, previous), instead, c.Dialect.Global)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		id, isOfVCenter := strings.CutPrefix(name, "VSPHERE_VCENTER_")
		if isOfVCenter && id != "" && values[name] != "" && !slices.Contains(Variables(), name) {
			c.Errorf(variable(name), "is not supported: add the vCenter to the file")
		}
	}
}

// warnOverride warns of a variable that applies to every file. Such a variable may come from a former
// workload, whose fields a server-side apply keeps.
func (c *checker) warnOverride(pos Position, f *config.Field, key string, previous *Value) {
	effect := effectOn(key, previous)
	if f.Env == config.SkipDeletionVariable {
		effect = "vzones deletes no Node, whatever the variable's value is"
	}
	w := c.message(pos, "%s: if that is not intended, remove the variable from the daemon's Pod", []any{effect})
	w.VCenter = pos.VCenter
	w.IsOverride = true
	c.addWarning(w)
}

func effectOn(key string, previous *Value) string {
	if previous.Set {
		return "overrides " + previous.At.Key()
	}
	return "sets " + key
}

// proxyVariables are in net/http's order: it uses the first that is not empty.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy"}

// IsProxy reports whether an environment variable sets the proxy.
func IsProxy(name string) bool { return slices.Contains(proxyVariables, name) }

// checkProxy warns of a proxy that net/http would silently ignore or misread. The warning omits the
// value, which may contain a password.
func (c *checker) checkProxy(environ map[string]string) {
	for _, name := range proxyVariables {
		if environ[name] == "" {
			continue
		}
		if !isProxyURL(environ[name]) {
			c.Warnf(variable(name), "is not a valid proxy URL, so connections use no proxy or the wrong one: "+
				"write a URL such as http://proxy.example.com:3128, with %%XX for special characters in a password")
		}
		return
	}
}

// isProxyURL reports whether net/http uses a text as intended: a URL, or a host and a port.
func isProxyURL(text string) bool {
	scheme, _, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		scheme = "http"
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, strings.ToLower(scheme)) &&
		isHost(u.Hostname()) && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}
