package config

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// What the values files of the vSphere CPI's charts say. The keys and defaults are those of
// kubernetes/cloud-provider-vsphere charts/vsphere-cpi, from its first version up to 1.31.0,
// of rancher-vsphere-cpi (rancher/vsphere-charts, rancher/rke2-charts) from 1.1 to 1.16, and
// of giantswarm/cloud-provider-vsphere-app, of which the first is a part.

// A chart is one of the CPI's charts.
type chart struct {
	name string
	// keys are top-level keys by which its values are known.
	keys   []string
	fields func(*chartValues) []field
	// finish fills in what the chart does where the file says nothing.
	finish func(*chartValues, *decoder)
}

// charts are in the order in which their keys are looked for: the last takes any file.
var charts = []chart{
	{
		"rancher-vsphere-cpi", []string{"vCenter", "cloudControllerManager", "versionOverrides", "nodesEnable"},
		(*chartValues).rancher, (*chartValues).finishRancher,
	},
	{
		"cloud-provider-vsphere", []string{"cloud-provider-for-vsphere", "kube-vip", "kube-vip-cloud-provider", "vsphere-csi-driver"},
		(*chartValues).giantSwarm, (*chartValues).finishGiantSwarm,
	},
	{"vsphere-cpi", nil, (*chartValues).upstream, (*chartValues).finishUpstream},
}

// parts are the keys under which a chart that depends on one of these has its values.
var parts = []string{"rancher-vsphere-cpi", "vsphere-cpi"}

// chartValues is what a values file says, with what its chart makes of the rest.
type chartValues struct {
	chart *chart
	// vcenter is the only one that such a chart knows; global is what the file says of it
	// for several charts, which counts first.
	vcenter, global chartVCenter

	port             number
	insecure         toggle
	families         text
	labels, useNodes toggle
	nodes            nodes

	nameOverride, fullnameOverride text
	// daemonSet is the name of the chart's, mounted that of the configuration in its Pods.
	daemonSet  string
	mounted    text
	params     carried
	env        carried
	tolerates  carried
	selects    carried
	attracts   carried
	carried    []*carried
	left       []Warning // what is not carried over
	unverified bool      // the chart switches the verification off without being asked
	// extra are tolerations of the chart that vzones' chart has not.
	extra []toleration
	// affine are the labels of Nodes that the chart looks for.
	affine []string
}

// chartVCenter is what a values file says of the vCenter, its ConfigMap and its Secret.
type chartVCenter struct {
	writeConfig, writeSecret toggle
	configMap, secretName    text
	server, user             text
	password                 secret
	datacenters              text
	region, zone             text
	thumbprint               text
}

// over lets the keys of c count before those of below, as Helm does: also those that are
// empty or false.
func (c *chartVCenter) over(below *chartVCenter) chartVCenter {
	return chartVCenter{
		writeConfig: above(c.writeConfig, below.writeConfig), writeSecret: above(c.writeSecret, below.writeSecret),
		configMap: above(c.configMap, below.configMap), secretName: above(c.secretName, below.secretName),
		server: above(c.server, below.server), user: above(c.user, below.user), password: above(c.password, below.password),
		datacenters: above(c.datacenters, below.datacenters), region: above(c.region, below.region), zone: above(c.zone, below.zone),
		thumbprint: above(c.thumbprint, below.thumbprint),
	}
}

// above is the first value whose key the file has.
func above[T any](a, b value[T]) value[T] {
	if a.at.line != 0 {
		return a
	}
	return b
}

// readChart reads a values file. Without a result there are mistakes.
func readChart(data []byte, p *problems) *chartValues {
	root := chartRoot(data, p)
	if root == nil {
		return nil
	}
	v := &chartValues{}
	d := &decoder{problems: p, size: len(data)}
	at := position{line: root.Line}
	root, at.path = v.part(d, root)
	v.chart = chartOf(root)
	d.others = func(o pair, fields []field) {
		why := "is not a value of the chart " + v.chart.name + ", which ignores it"
		known := make([]string, len(fields))
		for i, f := range fields {
			known[i] = f.name
		}
		if near := nearest(o.name, known); near != "" {
			why += ": did you mean " + near + "?"
		}
		v.lose(d, o.at, why)
	}
	d.mapping(root, at, v.chart.fields(v))
	if len(p.errors) > 0 {
		return nil
	}
	v.chart.finish(v, d)
	return v
}

// chartRoot returns the mapping that a values file is.
func chartRoot(data []byte, p *problems) *yaml.Node {
	// A release without values has the chart's own: helm get values prints null.
	if all, err := documents(bytes.NewReader(data)); err == nil && len(all) < 2 && hollow(all) {
		p.warnf(position{}, "the file has no values, so it counts as one for the chart vsphere-cpi, whose own hold")
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
	}
	root := yamlRoot(data, p)
	if root == nil {
		return nil
	}
	if lookup(root, "kind") != nil && lookup(root, "apiVersion") != nil {
		p.errorf(position{line: root.Line}, "is an object of Kubernetes, and no values file: write what is under spec.valuesContent or "+
			"chartValues into a file of its own, or take what helm get values prints")
		return nil
	}
	return root
}

// part returns the values of a chart on which that of the file depends, which are below its
// name, and else all.
func (v *chartValues) part(d *decoder, root *yaml.Node) (n *yaml.Node, path string) {
	for _, part := range parts {
		n := lookup(root, part)
		if n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(root.Content); i += 2 {
			if key := root.Content[i]; key.Value != part {
				v.lose(d, position{key.Line, child("", shownKey(key.Value))}, "is not below "+part+", so it is another chart's")
			}
		}
		return n, part
	}
	return root, ""
}

// lookup returns what stands under a key, or nil.
func lookup(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return follow(mapping.Content[i+1])
		}
	}
	return nil
}

func chartOf(root *yaml.Node) *chart {
	for i := range charts {
		if slices.ContainsFunc(charts[i].keys, func(key string) bool { return lookup(root, key) != nil }) {
			return &charts[i]
		}
	}
	return &charts[len(charts)-1]
}

// A taker reads a value in a way of its own.
type taker interface{ take(d *decoder, p pair) }

// carried is a value that vzones' chart takes as it is, at another path.
type carried struct {
	to   []string
	at   position
	node *yaml.Node
	// always says that it counts too where it asks for nothing, such as a false.
	always bool
	// removed says that it is null, with which Helm takes the chart's own value away.
	removed bool
}

func (c *carried) take(d *decoder, p pair) {
	c.removed = null(follow(p.node))
	if c.at = p.at; !empty(p.node) || c.always && !unset(p.node) {
		c.node = d.copied(p.node)
	}
}

// copied returns a value without aliases, which may lead out of it, merges and comments.
func (d *decoder) copied(n *yaml.Node) *yaml.Node {
	d.visit()
	n = follow(n)
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style &^ yaml.TaggedStyle, Line: n.Line}
	var merged []*yaml.Node
	for i, child := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0 && child.ShortTag() == "!!merge":
		case n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].ShortTag() == "!!merge":
			merged = append(merged, d.copied(child))
		default:
			c.Content = append(c.Content, d.copied(child))
		}
	}
	for _, m := range merged {
		mergeInto(c, m)
	}
	return c
}

// mergeInto adds what a mapping, or a list of them, has and another one has not.
func mergeInto(c, from *yaml.Node) {
	if from.Kind == yaml.SequenceNode {
		for _, m := range from.Content {
			mergeInto(c, m)
		}
		return
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if lookup(c, from.Content[i].Value) == nil {
			c.Content = append(c.Content, from.Content[i], from.Content[i+1])
		}
	}
}

// carry makes room for a value that is carried over.
func (v *chartValues) carry(to ...string) *carried {
	c := &carried{to: to}
	v.carried = append(v.carried, c)
	return c
}

// carryAll is carry of a value that counts whatever it is.
func (v *chartValues) carryAll(to ...string) *carried {
	c := v.carry(to...)
	c.always = true
	return c
}

// lost is a value that is not carried over, and why.
type lost struct {
	v   *chartValues
	why string
	// part is a key that has to be true for the value to ask for anything.
	part string
}

func (v *chartValues) lost(why string) lost { return lost{v, why, ""} }

func (v *chartValues) lostIfEnabled(why string) lost { return lost{v, why, "enabled"} }

func (l lost) take(d *decoder, p pair) {
	n := follow(p.node)
	if l.part != "" && n.Kind == yaml.MappingNode {
		if on := lookup(n, l.part); on == nil || empty(on) {
			return
		}
	}
	if !empty(n) {
		l.v.lose(d, p.at, l.why)
	}
}

func (v *chartValues) lose(d *decoder, at position, why string) {
	v.left = append(v.left, Warning(d.problem(at, "%s", []any{why})))
}

// truth is a toggle that older charts have as the text "1".
type truth struct{ into *toggle }

func (t truth) take(d *decoder, p pair) {
	n := follow(p.node)
	if n.Kind == yaml.ScalarNode && (n.Value == "1" || n.Value == "0") {
		*t.into = toggle{v: n.Value == "1", at: p.at, set: true}
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && (strings.EqualFold(n.Value, "true") || strings.EqualFold(n.Value, "false")) {
		*t.into = toggle{v: strings.EqualFold(n.Value, "true"), at: p.at, set: true}
		return
	}
	*t.into = d.toggle(p.node, p.at)
}

// misread is a thumbprint under a key of which the charts 1.25 and 1.26 make a file that
// the CPI cannot read.
type misread struct{ into *text }

func (m misread) take(d *decoder, p pair) {
	t := d.text(p.node, p.at)
	if !t.set {
		return
	}
	d.warnf(p.at, "counts as thumbprint, although the chart that has this key writes a file with it that is not YAML")
	if !m.into.set {
		*m.into = t
	}
}
