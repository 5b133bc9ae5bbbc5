package config

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

func (c *checker) addresses(n nodes) AddressRules {
	rules := AddressRules{
		InternalSubnets:        c.subnets(n.internalSubnets),
		ExternalSubnets:        c.subnets(n.externalSubnets),
		InternalNetwork:        c.network(n.internalNetwork),
		ExternalNetwork:        c.network(n.externalNetwork),
		ExcludeInternalSubnets: c.subnets(n.excludeInternalSubnets),
		ExcludeExternalSubnets: c.subnets(n.excludeExternalSubnets),
		Networks:               c.patterns(n.networks),
		ExcludeNetworks:        c.patterns(n.excludeNetworks),
	}
	for _, element := range n.excludeNetworks.v {
		if strings.Trim(element.v, "*") == "" && element.v != "" {
			c.complain(element, &complaint{what: "excludes every network: write the names of those to leave out"})
		}
	}
	for _, name := range []text{n.internalNetwork, n.externalNetwork} {
		if name.usable() && !rules.Considers(name.v) {
			c.complain(name, &complaint{what: "is a network that networks or excludeNetworks leaves out: change one of the two"})
		}
	}
	return rules
}

func (c *checker) subnets(t text) []netip.Prefix {
	if !t.usable() {
		return nil
	}
	subnets, wrong := parseSubnets(t.v)
	for _, w := range wrong {
		c.complain(t, &w)
	}
	return subnets
}

func (c *checker) network(t text) string {
	if t.usable() {
		c.complain(t, parseName(t.v))
	}
	return t.v
}

// patterns takes names of networks, each as an element of its own: a name may
// have a comma.
func (c *checker) patterns(given list) []string {
	if !given.usable() {
		return nil
	}
	var patterns []string
	for i, element := range given.v {
		c.bounded(element.at, i+1, maxNetworks, "names of networks")
		switch wrong := parseName(element.v); {
		case wrong != nil && strings.TrimSpace(element.v) == "":
			c.complain(element, &complaint{what: "is blank: write the name of a network, or remove the element"})
		case c.complain(element, wrong):
		case slices.ContainsFunc(patterns, func(p string) bool { return strings.EqualFold(p, element.v) }):
			c.warnf(element.at, "names a network again that the list already has")
		default:
			patterns = append(patterns, element.v)
		}
	}
	return patterns
}

// selector reads a label selector as kubectl takes it.
func (c *checker) selector(t text) labels.Selector {
	if !t.usable() {
		return labels.Everything()
	}
	selector, err := labels.Parse(t.v)
	if err != nil || selector.Empty() {
		c.complain(t, &complaint{"is no label selector: write one as for kubectl get nodes -l, such as vsphere=true,!metal",
			found(t.v)})
		return labels.Everything()
	}
	return selector
}
