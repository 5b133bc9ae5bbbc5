package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

const (
	controlPlane = "node-role.kubernetes.io/control-plane"
	// These are the names in vzones' chart.
	ourDaemonSet = "vsphere-cloud-controller-manager"
	ourConfigMap = "vsphere-cloud-config"
	ourFile      = "vsphere.conf"
)

// A toleration is one of a Pod's.
type toleration struct{ key, operator, value, effect string }

// verbosity is where the log's is in vzones' chart.
var verbosity = []string{"logging", "verbosity"}

// ourTolerations are those that vzones' chart has where its values say nothing.
var ourTolerations = []toleration{
	{"node.cloudprovider.kubernetes.io/uninitialized", "Exists", "", "NoSchedule"},
	{controlPlane, "Exists", "", "NoSchedule"},
	{"node.kubernetes.io/not-ready", "Exists", "", ""},
	{"node.kubernetes.io/unreachable", "Exists", "", ""},
	{"node.kubernetes.io/network-unavailable", "Exists", "", "NoSchedule"},
}

// ConvertChart returns the values for vzones' chart that mean what a values file of one of
// the vSphere CPI's charts means for a release in the given namespace, with what that chart
// does where the file says nothing. The accounts are in Written.Private, as values of their
// own. What is not carried over is in Written.Lost, and what a key says that the chart does
// not know counts as that.
func ConvertChart(file string, data []byte, namespace string) (w *Written, err error) {
	if err := (SecretRef{Name: "name", Namespace: namespace}).Check(); err != nil {
		return nil, err
	}
	p := &problems{file: file, words: &yamlWords, stops: true}
	if len(data) > MaxFile {
		p.errorf(position{}, "the file %s", tooLarge(int64(len(data))))
		return nil, p.err()
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			recovered(thrown)
			w, err = nil, p.err()
		}
	}()
	v := readChart(data, p)
	if v == nil {
		return nil, p.err()
	}
	c := &chartWriter{chartValues: v, problems: p, namespace: namespace}
	w = c.write()
	if err := p.err(); err != nil {
		return nil, err
	}
	return w, nil
}

// chartWriter writes values for vzones' chart.
type chartWriter struct {
	*chartValues
	*problems
	namespace string
	values    yaml.Node
}

func (c *chartWriter) write() *Written {
	c.values = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	w := new(Written)
	if c.daemonSet == ourDaemonSet {
		// Kubernetes changes no selector of a DaemonSet that is there.
		c.set(scalar("vzones"), "fullnameOverride")
	}
	c.environment()
	if c.vcenter.writeConfig.v {
		w.Private = c.configuration()
	} else {
		c.elsewhere()
	}
	for _, v := range c.carried {
		if v.node == nil {
			continue
		}
		if _, err := strconv.Atoi(v.node.Value); err == nil && v.node.Kind == yaml.ScalarNode && slices.Equal(v.to, verbosity) {
			v.node.Tag, v.node.Style = "!!int", 0 // The CPI's chart takes "2" too.
		}
		c.set(v.node, v.to...)
	}
	c.placement()
	c.arguments()
	c.variables()
	if c.nameOverride.set {
		c.tell(c.nameOverride.at, "Kubernetes lets no other DaemonSet have the name: vzones' objects keep their own")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Values for the chart of vzones, written by vzones convert from %s,\n# values of the chart %s.\n", oneLine(c.file), c.chart.name)
	encode(&b, &c.values)
	w.Data = b.Bytes()
	w.Warnings = sorted(c.warnings, func(w Warning) Error { return Error(w) })
	w.Lost = sorted(c.left, func(w Warning) Error { return Error(w) })
	return w
}

// tell adds to what is not carried over.
func (c *chartWriter) tell(at position, why string) {
	c.left = append(c.left, Warning(c.problem(at, "%s", []any{why})))
}

// set puts a value at a path, in the place of what is there.
func (c *chartWriter) set(v *yaml.Node, path ...string) {
	n := &c.values
	for _, key := range path[:len(path)-1] {
		next := lookup(n, key)
		if next == nil {
			next = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			n.Content = append(n.Content, scalar(key), next)
		}
		n = next
	}
	put(n, path[len(path)-1], v)
}

// put writes a key of a mapping.
func put(mapping *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = v
			return
		}
	}
	mapping.Content = append(mapping.Content, scalar(key), v)
}

// configuration writes config, and returns the account.
func (c *chartWriter) configuration() Password {
	v := &c.vcenter
	if v.configMap.v != ourConfigMap {
		c.set(scalar(v.configMap.v), "configMapName")
	}
	if c.mounted.at.line > 0 && c.mounted.v != ourFile {
		c.tell(c.mounted.at, "vzones' chart calls the file "+ourFile)
	}
	c.required(v.server, "the address of the vCenter")
	c.required(v.datacenters, "its datacenters")
	if v.writeSecret = either(v.writeSecret, toggle{v: true}); v.writeSecret.v {
		c.required(v.user, "the account: helm get values prints that of a release, or set the creation of the Secret to false and make one")
		c.required(text{set: v.password.set, at: v.password.at}, "its password")
	}
	s := c.schema()
	checked := &checker{problems: &problems{file: c.file, words: &yamlWords}, skipFiles: true}
	if len(c.errors) == 0 {
		checked.validate(s)
		c.errors = append(c.errors, checked.errors...)
	}
	e := s.vcenters[0]
	logins := addLogin(nil, login{e.server.v, e.user.v, e.password.v}, settings{password: e.password}, c.problems)
	e.user, e.password = text{}, secret{}
	if s.global.insecure = c.insecure; c.unverified {
		s.global.insecure = toggle{v: true, set: true}
		c.warnf(v.server.at, "the vSphere CPI's chart switches the verification of the server's certificate off, since there is no thumbprint: "+
			"whoever is between vzones and the vCenter gets the password: remove config.global.insecureFlag from the new values, "+
			"and trust the certificate by caData, caFile or thumbprint")
	} else if s.global.insecure.v {
		c.warnf(s.global.insecure.at, "switches the verification of the server's certificate off: whoever is between vzones and the vCenter "+
			"gets the password: remove config.global.insecureFlag from the new values, and trust the certificate by caData, caFile or thumbprint")
	}
	w := yamlWriter{schema: s}
	c.set(w.mapping(s.fields()), "config")
	if !v.writeSecret.v {
		for _, account := range []text{v.user, {set: v.password.set, at: v.password.at}} {
			if account.set {
				c.tell(account.at, "the chart of the vSphere CPI does not write it: the account is in the Secret "+v.secretName.v)
			}
		}
		return Password{}
	}
	return chartAccounts(v.secretName.v, logins)
}

// required reports what the chart would make of its example's value.
func (c *chartWriter) required(v text, what string) {
	if !v.set {
		c.errorf(v.at, "is not set: write %s", what)
	}
}

// schema is what the chart would write as configuration.
func (c *chartWriter) schema() *schema {
	v := &c.vcenter
	e := &section{
		name: v.server.v, at: v.server.at, server: v.server,
		datacenters: split(v.datacenters), thumbprint: v.thumbprint,
	}
	if v.writeSecret.v {
		e.user, e.password = v.user, v.password
	}
	s := &schema{vcenters: []*section{e}, vcentersAt: v.server.at, nodes: c.nodes}
	s.global.secretName = v.secretName
	s.global.secretNamespace = text{v: c.namespace, at: v.secretName.at, set: true}
	s.global.port = c.port
	s.global.ipFamilies = split(c.families)
	if c.labels.v {
		s.region, s.zone = rule{at: v.region.at, tag: v.region, short: true}, rule{at: v.zone.at, tag: v.zone, short: true}
	}
	return s
}

// elsewhere is for a configuration that the chart does not make.
func (c *chartWriter) elsewhere() {
	v := &c.vcenter
	for _, t := range []text{v.server, v.user, {set: v.password.set, at: v.password.at}, v.datacenters, v.region, v.zone, v.thumbprint} {
		if t.set && t.at.line > 0 {
			c.tell(t.at, "the chart of the vSphere CPI does not write it: the configuration is in the ConfigMap "+v.configMap.v)
		}
	}
	if c.mounted.v != ourFile {
		c.warnf(v.configMap.at, "the configuration is in the ConfigMap %s under the key %s, and vzones' chart reads the key %s: write it under config, "+
			"or into a ConfigMap with that key that existingConfigMap names", v.configMap.v, c.mounted.v, ourFile)
		return
	}
	c.set(scalar(v.configMap.v), "existingConfigMap")
	c.warnf(v.configMap.at, "the configuration is in the ConfigMap %s: name its Secrets under rbac.secrets, which vzones may read by name only, "+
		"or write the configuration under config", v.configMap.v)
}

// chartAccounts returns values with the account for a Secret.
func chartAccounts(name string, logins []login) Password {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	mapping := func(pairs ...*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}
	}
	accounts := mapping()
	for _, l := range logins {
		accounts.Content = append(accounts.Content, scalar(l.server),
			mapping(scalar("username"), quoted(l.user), scalar("password"), quoted(l.password.Reveal())))
	}
	var b bytes.Buffer
	encode(&b, mapping(scalar("credentials"), mapping(scalar(name), accounts)))
	return NewPassword(b.String())
}

// placement keeps the Pods on the Nodes that the CPI's chart means.
func (c *chartWriter) placement() {
	none := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	selector := c.selects.node
	if selector == nil {
		selector = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	if lookup(selector, controlPlane) == nil {
		// Helm merges mappings: this takes away what vzones' chart selects.
		selector.Content = append(selector.Content, scalar(controlPlane), none)
	}
	c.set(selector, "nodeSelector")
	switch {
	case c.attracts.removed:
	case c.attracts.node != nil && c.attracts.node.Kind != yaml.MappingNode:
		c.set(c.attracts.node, "affinity")
	case c.attracts.node != nil:
		affinity := onNodesWith(c.affine)
		if overlay(affinity, c.attracts.node); len(affinity.Content) > 0 {
			c.set(affinity, "affinity")
		}
	case c.selects.node == nil:
		c.set(onNodesWith(c.affine), "affinity")
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, t := range slices.Concat(ourTolerations, c.extra) {
		n.Content = append(n.Content, t.node())
	}
	if c.tolerates.node != nil && c.tolerates.node.Kind == yaml.SequenceNode {
		n.Content = append(n.Content, c.tolerates.node.Content...)
	}
	c.set(n, "tolerations")
}

// overlay changes a mapping as Helm changes a chart's by that of a values file: a list takes
// the place of a list, and null takes a key away.
func overlay(mapping, over *yaml.Node) {
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, v := over.Content[i].Value, over.Content[i+1]
		below := lookup(mapping, key)
		switch {
		case null(v):
			for j := 0; j+1 < len(mapping.Content); j += 2 {
				if mapping.Content[j].Value == key {
					mapping.Content = slices.Delete(mapping.Content, j, j+2)
					break
				}
			}
		case below != nil && below.Kind == yaml.MappingNode && v.Kind == yaml.MappingNode:
			overlay(below, v)
		default:
			put(mapping, key, v)
		}
	}
}

// onNodesWith is an affinity to Nodes that have one of the labels.
func onNodesWith(labels []string) *yaml.Node {
	var terms []map[string]any
	for _, label := range labels {
		terms = append(terms, map[string]any{"matchExpressions": []map[string]any{{"key": label, "operator": "Exists"}}})
	}
	return yamlOf(map[string]any{"nodeAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": terms},
	}})
}

func (t toleration) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	for _, f := range [][2]string{{"key", t.key}, {"operator", t.operator}, {"value", t.value}, {"effect", t.effect}} {
		if f[1] != "" {
			n.Content = append(n.Content, scalar(f[0]), scalar(f[1]))
		}
	}
	return n
}

// yamlOf returns a value that can be written.
func yamlOf(v any) *yaml.Node {
	n := new(yaml.Node)
	if err := n.Encode(v); err != nil {
		panic(fmt.Sprintf("config: writing YAML: %v", err))
	}
	return n
}
