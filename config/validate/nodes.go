package validate

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/schema"
)

func (c *checker) addresses(n schema.Nodes) config.AddressRules {
	rules := config.AddressRules{
		InternalSubnets:        c.subnets(n.InternalSubnets),
		ExternalSubnets:        c.subnets(n.ExternalSubnets),
		InternalNetwork:        c.network(n.InternalNetwork),
		ExternalNetwork:        c.network(n.ExternalNetwork),
		ExcludeInternalSubnets: c.subnets(n.ExcludeInternalSubnets),
		ExcludeExternalSubnets: c.subnets(n.ExcludeExternalSubnets),
		Networks:               c.patterns(n.Networks),
		ExcludeNetworks:        c.patterns(n.ExcludeNetworks),
	}
	for _, element := range n.ExcludeNetworks.V {
		if strings.Trim(element.V, "*") == "" && element.V != "" {
			c.reject(element, &check.Mistake{What: "excludes every network: write the names of those to leave out"})
		}
	}
	for _, name := range []schema.Text{n.InternalNetwork, n.ExternalNetwork} {
		if name.Usable() && !rules.Considers(name.V) {
			c.reject(name, &check.Mistake{What: "is a network that networks or excludeNetworks leaves out: change one of the two"})
		}
	}
	return rules
}

func (c *checker) subnets(t schema.Text) []netip.Prefix {
	if !t.Usable() {
		return nil
	}
	subnets, wrong := check.ParseSubnets(t.V)
	for _, w := range wrong {
		c.reject(t, &w)
	}
	return subnets
}

func (c *checker) network(t schema.Text) string {
	if t.Usable() {
		c.reject(t, check.ParseName(t.V))
	}
	return t.V
}

// patterns takes names of networks, each as an element of its own: a name may
// have a comma.
func (c *checker) patterns(given schema.List) []string {
	if !given.Usable() {
		return nil
	}
	var patterns []string
	for i, element := range given.V {
		c.Bounded(element.At, i+1, schema.MaxNetworks, "names of networks")
		switch wrong := check.ParseName(element.V); {
		case wrong != nil && strings.TrimSpace(element.V) == "":
			c.reject(element, &check.Mistake{What: "is blank: write the name of a network, or remove the element"})
		case c.reject(element, wrong):
		case slices.ContainsFunc(patterns, func(p string) bool { return strings.EqualFold(p, element.V) }):
			c.Warnf(element.At, "names a network that the list already has")
		default:
			patterns = append(patterns, element.V)
		}
	}
	return patterns
}

// selector reads a label selector as kubectl takes it.
func (c *checker) selector(t schema.Text) labels.Selector {
	if !t.Usable() {
		return labels.Everything()
	}
	selector, err := labels.Parse(t.V)
	if err != nil || selector.Empty() {
		c.reject(t, &check.Mistake{What: "is not a valid label selector: write one as for kubectl get nodes -l, such as vsphere=true,!metal",
			Detail: check.Found(t.V)})
		return labels.Everything()
	}
	return selector
}

// nodeLabels checks the labels that each Node gets.
func (c *checker) nodeLabels(t schema.Table, levels []*schema.Level) map[string]string {
	var labels map[string]string
	for _, r := range t.Rows {
		if r.Value.Bad {
			continue
		}
		key := schema.Text{V: r.Key, At: r.At}
		i := slices.IndexFunc(levels, func(l *schema.Level) bool { return l.Label.Usable() && l.Label.V == r.Key })
		switch {
		case c.reject(key, check.ParseLabelKey(r.Key)):
		case i >= 0:
			c.Errorf(r.At, "is the label of %v too: remove one of the two", levels[i].At)
		case c.reject(schema.Text{At: r.At, Hidden: r.Value.Hidden}, check.ParseLabelValue(r.Value.V)):
		default:
			if labels == nil {
				labels = make(map[string]string)
			}
			labels[r.Key] = r.Value.V
		}
	}
	return labels
}
