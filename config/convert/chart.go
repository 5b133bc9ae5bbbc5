package convert

import (
	"bytes"
	"slices"
	"strings"

	"vzones/config"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/parse/yaml"
	"vzones/topology/suggest"
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
	fields func(*chartValues) []schema.Field
	// finish fills in what the chart does where the file says nothing.
	finish func(*chartValues, *yaml.Decoder)
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

	port             schema.Number
	insecure         schema.Toggle
	families         schema.Text
	labels, useNodes schema.Toggle
	nodes            schema.Nodes

	nameOverride, fullnameOverride schema.Text
	// daemonSet is the name of the chart's, mounted that of the configuration in its Pods.
	daemonSet  string
	mounted    schema.Text
	params     carried
	env        carried
	tolerates  carried
	selects    carried
	attracts   carried
	carried    []*carried
	left       []config.Warning // what is not carried over
	unverified bool             // the chart switches the verification off without being asked
	// extra are tolerations of the chart that vzones' chart has not.
	extra []toleration
	// affine are the labels of Nodes that the chart looks for.
	affine []string
}

// chartVCenter is what a values file says of the vCenter, its ConfigMap and its Secret.
type chartVCenter struct {
	writeConfig, writeSecret schema.Toggle
	configMap, secretName    schema.Text
	server, user             schema.Text
	password                 schema.Secret
	datacenters              schema.Text
	region, zone             schema.Text
	thumbprint               schema.Text
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
func above[T any](a, b schema.Value[T]) schema.Value[T] {
	if a.At.Line != 0 {
		return a
	}
	return b
}

// readChart reads a values file. Without a result there are mistakes.
func readChart(data []byte, p *problem.List) *chartValues {
	root := chartRoot(data, p)
	if root == nil {
		return nil
	}
	v := &chartValues{}
	d := &yaml.Decoder{List: p, Size: len(data)}
	at := problem.Position{Line: root.Line}
	root, at.Path = v.part(d, root)
	v.chart = chartOf(root)
	d.Others = func(o yaml.Pair, fields []schema.Field) {
		why := "is not a value of the chart " + v.chart.name + ", which ignores it"
		known := make([]string, len(fields))
		for i, f := range fields {
			known[i] = f.Name
		}
		if near := suggest.Nearest(o.Name, known); near != "" {
			why += ": did you mean " + near + "?"
		}
		v.notCarried(d, o.At, why)
	}
	d.Mapping(root, at, v.chart.fields(v))
	if len(p.Errors) > 0 {
		return nil
	}
	v.chart.finish(v, d)
	return v
}

// chartRoot returns the mapping that a values file is.
func chartRoot(data []byte, p *problem.List) *yaml.Node {
	// A release without values has the chart's own: helm get values prints null.
	if all, err := yaml.Documents(bytes.NewReader(data)); err == nil && len(all) < 2 && yaml.Hollow(all) {
		p.Warnf(problem.Position{}, "the file has no values, so it counts as one for the chart vsphere-cpi, whose defaults apply")
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
	}
	root := yaml.Root(data, p)
	if root == nil {
		return nil
	}
	if yaml.Lookup(root, "kind") != nil && yaml.Lookup(root, "apiVersion") != nil {
		p.Errorf(problem.Position{Line: root.Line}, "is an object of Kubernetes, and not a values file: write what is under spec.valuesContent or "+
			"chartValues into a file of its own, or take what helm get values prints")
		return nil
	}
	return root
}

// part returns the values of a chart on which that of the file depends, which are below its
// name, and else all.
func (v *chartValues) part(d *yaml.Decoder, root *yaml.Node) (n *yaml.Node, path string) {
	for _, part := range parts {
		n := yaml.Lookup(root, part)
		if n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(root.Content); i += 2 {
			if key := root.Content[i]; key.Value != part {
				v.notCarried(d, problem.Position{Line: key.Line, Path: problem.Child("", schema.ShownKey(key.Value))}, "is not below "+part+", so it is another chart's")
			}
		}
		return n, part
	}
	return root, ""
}

func chartOf(root *yaml.Node) *chart {
	for i := range charts {
		if slices.ContainsFunc(charts[i].keys, func(key string) bool { return yaml.Lookup(root, key) != nil }) {
			return &charts[i]
		}
	}
	return &charts[len(charts)-1]
}

// taken returns the value that the file has, which is YAML.
func taken(from schema.Source) (*yaml.Decoder, yaml.Pair) {
	v := from.(yaml.Value)
	return v.Decoder, v.Pair
}

// carried is a value that vzones' chart takes as it is, at another path.
type carried struct {
	to   []string
	at   problem.Position
	node *yaml.Node
	// always reports whether it counts too where it asks for nothing, such as a false.
	always bool
	// removed reports whether it is null, with which Helm takes the chart's own value away.
	removed bool
}

func (c *carried) Take(from schema.Source) {
	d, p := taken(from)
	c.removed = yaml.Null(yaml.Follow(p.Node))
	if c.at = p.At; !yaml.Empty(p.Node) || c.always && !yaml.Unset(p.Node) {
		c.node = copied(d, p.Node)
	}
}

// copied returns a value without aliases, which may lead out of it, merges and comments.
func copied(d *yaml.Decoder, n *yaml.Node) *yaml.Node {
	d.Visit()
	n = yaml.Follow(n)
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style &^ yaml.TaggedStyle, Line: n.Line}
	var merged []*yaml.Node
	for i, child := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0 && child.ShortTag() == "!!merge":
		case n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].ShortTag() == "!!merge":
			merged = append(merged, copied(d, child))
		default:
			c.Content = append(c.Content, copied(d, child))
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
		if yaml.Lookup(c, from.Content[i].Value) == nil {
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

func (l lost) Take(from schema.Source) {
	d, p := taken(from)
	n := yaml.Follow(p.Node)
	if l.part != "" && n.Kind == yaml.MappingNode {
		if on := yaml.Lookup(n, l.part); on == nil || yaml.Empty(on) {
			return
		}
	}
	if !yaml.Empty(n) {
		l.v.notCarried(d, p.At, l.why)
	}
}

func (v *chartValues) notCarried(d *yaml.Decoder, at problem.Position, why string) {
	v.left = append(v.left, config.Warning(d.New(at, "%s", []any{why})))
}

// truth is a toggle that older charts have as the text "1".
type truth struct{ into *schema.Toggle }

func (t truth) Take(from schema.Source) {
	_, p := taken(from)
	n := yaml.Follow(p.Node)
	if n.Kind == yaml.ScalarNode && (n.Value == "1" || n.Value == "0") {
		*t.into = schema.Toggle{V: n.Value == "1", At: p.At, Set: true}
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && (strings.EqualFold(n.Value, "true") || strings.EqualFold(n.Value, "false")) {
		*t.into = schema.Toggle{V: strings.EqualFold(n.Value, "true"), At: p.At, Set: true}
		return
	}
	*t.into = from.Toggle()
}

// misread is a thumbprint under a key of which the charts 1.25 and 1.26 make a file that
// the CPI cannot read.
type misread struct{ into *schema.Text }

func (m misread) Take(from schema.Source) {
	d, p := taken(from)
	t := from.Text()
	if !t.Set {
		return
	}
	d.Warnf(p.At, "counts as thumbprint, although the chart that has this key writes a file with it that is not YAML")
	if !m.into.Set {
		*m.into = t
	}
}

// A toleration is one of a Pod's.
type toleration struct{ key, operator, value, effect string }

func (t toleration) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	for _, f := range [][2]string{{"key", t.key}, {"operator", t.operator}, {"value", t.value}, {"effect", t.effect}} {
		if f[1] != "" {
			n.Content = append(n.Content, yaml.Scalar(f[0]), yaml.Scalar(f[1]))
		}
	}
	return n
}
