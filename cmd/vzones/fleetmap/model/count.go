package model

// A tally counts the marks of a fleet, each once although its object is in several places.
type tally struct {
	kinds    map[Kind]int
	problems int
	// in are the problems of each vCenter's objects.
	in   map[string]int
	seen map[seen]bool
}

// seen is a mark of an object of a vCenter.
type seen struct {
	vcenter, object string
	mark            Mark
}

// note counts marks of something that is in one place, and returns how many of them are problems.
func (t *tally) note(marks []Mark) int {
	problems := 0
	for _, mark := range marks {
		t.kinds[mark.Kind]++
		if mark.IsProblem() {
			problems++
		}
	}
	t.problems += problems
	return problems
}

// noteObject counts marks of an object of a vCenter, and returns how many of them are problems, whether
// they were counted before or not.
func (t *tally) noteObject(vcenter, object string, marks []Mark) int {
	problems := 0
	for _, mark := range marks {
		if mark.IsProblem() {
			problems++
		}
		key := seen{vcenter, object, mark}
		if t.seen[key] {
			continue
		}
		t.seen[key] = true
		t.in[vcenter] += t.note([]Mark{mark})
	}
	return problems
}

// count counts everything, from the hosts up.
func (m *Map) count(f *Facts, entries []entry) {
	t := &tally{kinds: map[Kind]int{}, in: map[string]int{}, seen: map[seen]bool{}}
	for i := range m.Regions {
		r := &m.Regions[i]
		for j := range r.Zones {
			z := &r.Zones[j]
			for k := range z.Clusters {
				c := &z.Clusters[k]
				c.count(t)
				z.Counts.add(&c.Counts)
				z.Counts.Clusters++
			}
			z.Counts.Problems += t.note(z.Marks)
			r.Counts.add(&z.Counts)
			if z.Name != "" {
				r.Counts.Zones++
			}
		}
		r.Counts.Problems += t.note(r.Marks)
	}
	for i := range m.Unplaced {
		t.note(m.Unplaced[i].Marks)
	}
	for i := range m.VCenters {
		v := &m.VCenters[i]
		own := t.note(v.Marks)
		v.Counts = distinct(f, entries, v.Name)
		v.Counts.Problems = own + t.in[v.Name]
	}
	foreign := m.Counts.Foreign
	m.Counts = distinct(f, entries, "")
	m.Counts.Problems, m.Counts.Foreign = t.problems, foreign
	m.Kinds = []KindCount{}
	for _, k := range Kinds() {
		if t.kinds[k] > 0 {
			m.Kinds = append(m.Kinds, KindCount{k, k.Title(), t.kinds[k]})
		}
	}
}

// count counts the hosts of a cluster and their Nodes.
func (c *Cluster) count(t *tally) {
	c.Counts.Problems += t.noteObject(c.VCenter, c.Path, c.Marks)
	for i := range c.Hosts {
		h := &c.Hosts[i]
		c.Counts.Problems += t.noteObject(c.VCenter, h.ID, h.Marks)
		if h.ID != "" {
			c.Counts.Hosts++
			if len(h.Nodes) > 0 {
				c.Counts.UsedHosts++
			}
		}
		for j := range h.Nodes {
			n := &h.Nodes[j]
			c.Counts.Problems += t.noteObject(c.VCenter, n.Name, n.Marks)
			c.Counts.Nodes++
			if n.ControlPlane {
				c.Counts.ControlPlane++
			}
		}
	}
}

// add adds what is below a part, but for its zones and clusters.
func (c *Counts) add(part *Counts) {
	c.Zones += part.Zones
	c.Clusters += part.Clusters
	c.Hosts += part.Hosts
	c.UsedHosts += part.UsedHosts
	c.Nodes += part.Nodes
	c.ControlPlane += part.ControlPlane
	c.Problems += part.Problems
}

// distinct counts each thing of a vCenter, or of all, once.
func distinct(f *Facts, entries []entry, vcenter string) Counts {
	var c Counts
	regions, zones := map[string]bool{}, map[[2]string]bool{}
	clusters, hosts, used := map[clusterKey]bool{}, map[HostKey]bool{}, map[HostKey]bool{}
	for i := range entries {
		e := &entries[i]
		if vcenter != "" && e.host.VCenter != vcenter {
			continue
		}
		if e.region != "" {
			regions[e.region] = true
		}
		if e.zone != "" {
			zones[[2]string{e.region, e.zone}] = true
		}
		if e.host.ID == "" {
			continue
		}
		if clusters[clusterKey{e.host.VCenter, e.host.Cluster}] = true; len(e.nodes) > 0 {
			used[e.host.HostKey] = true
		}
		hosts[e.host.HostKey] = true
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; vcenter == "" || n.Host.VCenter == vcenter {
			c.Nodes++
			if n.ControlPlane {
				c.ControlPlane++
			}
		}
	}
	c.Regions, c.Zones, c.Clusters, c.Hosts, c.UsedHosts = len(regions), len(zones), len(clusters), len(hosts), len(used)
	return c
}
