package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/topology"
	"vzones/topology/quote"
)

// A setting is a key of the configuration and its value, as a person reads them. Secret
// ones have a value that says nothing.
type setting struct{ key, value string }

// changes returns the settings that differ, with the old and the new value, in the order of
// the newer ones and then of those that are gone.
func changes(before, now []setting) []string {
	var all []string
	value := func(of []setting, key string) string {
		if i := slices.IndexFunc(of, func(s setting) bool { return s.key == key }); i >= 0 {
			return of[i].value
		}
		return ""
	}
	seen := map[string]bool{}
	for _, s := range slices.Concat(now, before) {
		was, is := value(before, s.key), value(now, s.key)
		if was != is && !seen[s.key] {
			all = append(all, fmt.Sprintf("%s from %s to %s", s.key, shown(was), shown(is)))
		}
		seen[s.key] = true
	}
	return all
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return quote.Name(value)
}

// settings are those of the vCenter, but for its password.
func (v *VCenter) settings() []setting {
	account := v.User
	if strings.HasPrefix(account, "-----BEGIN") {
		account = "a certificate"
	}
	datacenters := list(v.Datacenters)
	if datacenters == "" {
		datacenters = "all"
	}
	return []setting{
		{"server", v.Server}, {"port", strconv.Itoa(v.Port)}, {"datacenters", datacenters},
		{"user", account}, {"secretName", v.Secret.Name}, {"secretNamespace", v.Secret.Namespace}, {"secretsDirectory", v.SecretsDirectory},
		{"insecureFlag", strconv.FormatBool(v.Insecure)}, {"caFile", v.CAFile}, {"thumbprint", v.Thumbprint},
		{"soapRoundtripCount", strconv.Itoa(v.RoundTrips)}, {"ipFamily", list(v.IPFamilies)},
	}
}

// changes returns what has changed, of secrets only that they have.
func (v *VCenter) changes(now *VCenter) []string {
	all := changes(v.settings(), now.settings())
	if !v.Password.Equal(now.Password) {
		all = append(all, "password")
	}
	if !bytes.Equal(v.CA, now.CA) {
		all = append(all, "the CA certificates")
	}
	return all
}

// settings are those that no vCenter has.
func (c *Config) settings() []setting {
	t, a := &c.Topology, &c.Addresses
	all := []setting{
		{"topology.precedence", string(t.Policy.Precedence)}, {"topology.paths", list(t.Policy.Paths)},
		{"topology.backfill", strconv.FormatBool(t.Backfill)}, {"topology.drift", string(t.Drift)}, {"topology.settle", t.Settle.String()},
	}
	var order []string
	for _, rules := range []topology.Rules{t.Policy.Rules, t.Policy.Levels} {
		for i := range rules {
			order = append(order, rules[i].Label)
			r := &rules[i]
			label := "label " + r.Label
			all = append(all, setting{label, source(r)},
				setting{label + " required", yes(r.Required)}, setting{label + " nested", yes(r.Nested)})
		}
	}
	all = append(all, setting{"the order of labels", list(order)})
	selector := ""
	if c.NodeSelector != nil {
		selector = c.NodeSelector.String()
	}
	var every []string
	for key, value := range c.NodeLabels {
		every = append(every, key+"="+value)
	}
	slices.Sort(every)
	return append(all,
		setting{"nodes.internalNetworkSubnetCidr", list(a.InternalSubnets)}, setting{"nodes.externalNetworkSubnetCidr", list(a.ExternalSubnets)},
		setting{"nodes.internalVmNetworkName", a.InternalNetwork}, setting{"nodes.externalVmNetworkName", a.ExternalNetwork},
		setting{"nodes.excludeInternalNetworkSubnetCidr", list(a.ExcludeInternalSubnets)},
		setting{"nodes.excludeExternalNetworkSubnetCidr", list(a.ExcludeExternalSubnets)},
		setting{"nodes.networks", list(a.Networks)}, setting{"nodes.excludeNetworks", list(a.ExcludeNetworks)},
		setting{"nodes.selector", selector}, setting{"nodes.labels", list(every)},
		setting{"nodes.skipDeletion", strconv.FormatBool(c.SkipNodeDeletion)}, setting{"nodes.matchByName", strconv.FormatBool(c.MatchByName)},
	)
}

// source is what gives a label its value.
func source(r *topology.Rule) string {
	var of []string
	switch {
	case r.Category != "":
		of = append(of, "tag "+r.Category)
	case r.HostGroup != "":
		of = append(of, "hostGroup "+r.HostGroup)
	case r.Inventory != "":
		of = append(of, "inventory "+string(r.Inventory))
	}
	if r.Value != nil {
		parts := make([]string, len(r.Value))
		for i, part := range r.Value {
			parts[i] = part.String()
		}
		of = append(of, "value "+strings.Join(parts, ""))
	}
	return strings.Join(of, " ")
}

// yes is "yes" or nothing: of a new label that says enough.
func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// list writes values with commas between them.
func list[T any](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i] = fmt.Sprint(v); strings.ContainsAny(texts[i], ", ") {
			texts[i] = strconv.Quote(texts[i])
		}
	}
	return strings.Join(texts, ",")
}
