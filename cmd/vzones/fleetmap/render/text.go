// Package render draws a map of a fleet: as a tree for a terminal, as an SVG picture, and as an HTML
// page. Each is made of the model alone. Names in it are what others chose, so each form escapes them.
package render

import (
	"fmt"
	"strconv"
	"strings"

	"vzones/cmd/vzones/fleetmap/model"
	"vzones/topology/quote"
)

// count returns a number with what is counted, in the plural where it has to be.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return number(n) + " " + what
}

// number returns a number with a comma before each three digits.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func regionName(r *model.Region) string {
	if r.Name == "" {
		return "no region"
	}
	return "region " + quote.Name(r.Name)
}

func zoneName(z *model.Zone) string {
	if z.Name == "" {
		return "no zone"
	}
	return "zone " + quote.Name(z.Name)
}

// clusterName names a cluster without its vCenter.
func clusterName(c *model.Cluster) string {
	switch {
	case c.Path == "":
		return "machines whose host is not known"
	case c.Standalone:
		return "standalone host " + quote.Name(c.Path)
	}
	return "cluster " + quote.Name(c.Path)
}

// hostName names a host of a cluster.
func hostName(h *model.Host) string {
	switch {
	case h.ID == "":
		return "host not known"
	case h.Name == "":
		return "host " + quote.Name(h.ID)
	}
	return quote.Name(h.Name)
}

// title is what a map has, in one line.
func title(m *model.Map) string {
	c := &m.Counts
	parts := []string{
		count(len(m.VCenters), "vCenter"), count(c.Regions, "region"), count(c.Zones, "zone"),
		count(c.Clusters, "cluster"), count(c.Hosts, "host"),
	}
	if m.Cluster {
		parts = append(parts, nodes(c))
	}
	return strings.Join(parts, ", ")
}

// foreign says how many Nodes are not on the map.
func foreign(m *model.Map) string {
	return count(m.Counts.Foreign, "further Node") + " of another provider or outside of nodes.selector"
}

// nodes says how many Nodes there are.
func nodes(c *model.Counts) string {
	text := count(c.Nodes, "Node")
	if c.ControlPlane > 0 {
		text += fmt.Sprintf(" (%s control plane)", number(c.ControlPlane))
	}
	return text
}

// hosts says how many hosts there are, and on how many of them the Nodes are.
func hosts(c *model.Counts, cluster bool) string {
	switch {
	case !cluster:
		return count(c.Hosts, "host")
	case c.Hosts == 0:
		return nodes(c)
	case c.Nodes == 0:
		return "no Nodes on " + count(c.Hosts, "host")
	}
	return fmt.Sprintf("%s on %s of %s", nodes(c), number(c.UsedHosts), count(c.Hosts, "host"))
}

// problems says how many marks there are that are problems, empty for none.
func problems(c *model.Counts) string {
	if c.Problems == 0 {
		return ""
	}
	return count(c.Problems, "problem")
}

// hasProblem reports whether a host or one of its Nodes has a mark that is a problem.
func hasProblem(h *model.Host) bool {
	if anyProblem(h.Marks) {
		return true
	}
	for i := range h.Nodes {
		if anyProblem(h.Nodes[i].Marks) {
			return true
		}
	}
	return false
}

func anyProblem(marks []model.Mark) bool {
	for _, m := range marks {
		if m.IsProblem() {
			return true
		}
	}
	return false
}

// quoted returns names for a person.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quote.Name(n)
	}
	return strings.Join(all, ", ")
}
