package validate

import (
	"slices"
	"strings"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/schema"
	"vzones/topology/quote"
)

// datacenters splits elements at commas, since Rancher's chart writes all names
// into one. A list of nothing but blanks, which charts write where no
// datacenter is given, means all datacenters, as in the CPI.
func (c *checker) datacenters(given schema.List) schema.Value[[]string] {
	v := schema.Value[[]string]{At: given.At, Set: given.Set, Bad: given.Bad}
	if !given.Usable() || allBlank(given.V) {
		return v
	}
	have := make(map[string]bool)
	for _, element := range given.V {
		for part := range strings.SplitSeq(element.V, ",") {
			part = strings.TrimSpace(part)
			form, wrong := config.FormOfDatacenter(part)
			switch {
			case part == "":
				v.Bad = c.reject(element, &check.Mistake{What: "has an empty name: write the names of datacenters, or remove the element"})
			case check.ParseName(part) != nil:
				v.Bad = c.reject(element, check.ParseName(part))
			case wrong != nil:
				v.Bad = c.reject(element, &check.Mistake{What: wrong.Error(), Detail: check.Found(part)})
			case have[part]:
				c.Warnf(element.At, "names a datacenter that the list already has")
			default:
				v.V, have[part] = append(v.V, part), true
				c.Notef(element.At, "%s is read as %s", quote.Value(part), form)
			}
		}
	}
	return v
}

func allBlank(elements []schema.Text) bool {
	return !slices.ContainsFunc(elements, func(t schema.Text) bool { return strings.TrimSpace(t.V) != "" })
}
