package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"vzones/config"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/internal/validate"
	"vzones/config/parse/yaml"
	"vzones/config/readfile"
)

const (
	controlPlane = "node-role.kubernetes.io/control-plane"
	// These are the names in vzones' chart.

	ourDaemonSet = "vsphere-cloud-controller-manager"
	ourConfigMap = "vsphere-cloud-config"
	ourFile      = "vsphere.conf"
)

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

// ToChart returns the values for vzones' chart that mean what a values file of one of
// the vSphere CPI's charts means for a release in the given namespace, with what that chart
// does where the file says nothing. The accounts are in Written.Private, as values of their
// own. What is not carried over is in Written.Lost, and what a key says that the chart does
// not know counts as that.
func ToChart(file string, data []byte, namespace string) (w *Written, err error) {
	if err := (config.SecretRef{Name: "name", Namespace: namespace}).Check(); err != nil {
		return nil, err
	}
	p := &problem.List{File: file, Words: &problem.YAMLWords, Stops: true}
	if len(data) > readfile.MaxSize {
		p.Errorf(problem.Position{}, "the file %s", readfile.TooLarge(int64(len(data))))
		return nil, p.Err()
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			problem.Recovered(thrown)
			w, err = nil, p.Err()
		}
	}()
	v := readChart(data, p)
	if v == nil {
		return nil, p.Err()
	}
	c := &chartWriter{chartValues: v, List: p, namespace: namespace}
	w = c.write()
	if err := p.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

// chartWriter writes values for vzones' chart.
type chartWriter struct {
	*chartValues
	*problem.List
	namespace string
	values    yaml.Node
}

func (c *chartWriter) write() *Written {
	c.values = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	w := new(Written)
	if c.daemonSet == ourDaemonSet {
		// Kubernetes changes no selector of a DaemonSet that is there.
		c.set(yaml.Scalar("vzones"), "fullnameOverride")
	}
	c.environment()
	if c.vcenter.writeConfig.V {
		w.Private = c.configuration()
		if !w.Private.IsEmpty() {
			w.PrivateLine = c.vcenter.user.At.Line
		}
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
	if c.nameOverride.Set {
		c.notCarried(c.nameOverride.At, "Kubernetes lets no other DaemonSet have the name: vzones' objects keep their own")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Values for the chart of vzones, written by vzones convert from %s,\n# values of the chart %s.\n", oneLine(c.File), c.chart.name)
	yaml.Encode(&b, &c.values)
	w.Data = b.Bytes()
	w.Warnings = problem.Sorted(c.Warnings, func(w config.Warning) config.Error { return config.Error(w) })
	w.Lost = problem.Sorted(c.left, func(w config.Warning) config.Error { return config.Error(w) })
	return w
}

// notCarried notes what is not carried over, and why.
func (c *chartWriter) notCarried(at problem.Position, why string) {
	c.left = append(c.left, config.Warning(c.New(at, "%s", []any{why})))
}

// set puts a value at a path, in the place of what is there.
func (c *chartWriter) set(v *yaml.Node, path ...string) {
	n := &c.values
	for _, key := range path[:len(path)-1] {
		next := yaml.Lookup(n, key)
		if next == nil {
			next = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			n.Content = append(n.Content, yaml.Scalar(key), next)
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
	mapping.Content = append(mapping.Content, yaml.Scalar(key), v)
}

// configuration writes config, and returns the account.
func (c *chartWriter) configuration() config.Password {
	v := &c.vcenter
	if v.configMap.V != ourConfigMap {
		c.set(yaml.Scalar(v.configMap.V), "configMapName")
	}
	if c.mounted.At.Line > 0 && c.mounted.V != ourFile {
		c.notCarried(c.mounted.At, "vzones' chart calls the file "+ourFile)
	}
	c.required(v.server, "the address of the vCenter")
	c.required(v.datacenters, "its datacenters")
	if v.writeSecret = schema.Either(v.writeSecret, schema.Toggle{V: true}); v.writeSecret.V {
		c.required(v.user, "the account: helm get values prints that of a release, or set the creation of the Secret to false and make one")
		c.required(schema.Text{Set: v.password.Set, At: v.password.At}, "its password")
	}
	s := c.schema()
	if len(c.Errors) == 0 {
		found := &problem.List{File: c.File, Words: &problem.YAMLWords}
		validate.File(s, found, nil)
		c.Errors = append(c.Errors, found.Errors...)
	}
	e := s.VCenters[0]
	logins := addLogin(nil, login{e.Server.V, e.User.V, e.Password.V, e.User.At.Line}, validate.Settings{Section: *e}, c.List)
	e.User, e.Password = schema.Text{}, schema.Secret{}
	if s.Global.Insecure = c.insecure; c.unverified {
		s.Global.Insecure = schema.Toggle{V: true, Set: true}
		c.Warnf(v.server.At, "the vSphere CPI's chart switches the verification of the server's certificate off, since there is no thumbprint: "+
			"whoever is between vzones and the vCenter gets the password: remove config.global.insecureFlag from the new values, "+
			"and trust the certificate by caData, caFile or thumbprint")
	} else if s.Global.Insecure.V {
		c.Warnf(s.Global.Insecure.At, "switches the verification of the server's certificate off: whoever is between vzones and the vCenter "+
			"gets the password: remove config.global.insecureFlag from the new values, and trust the certificate by caData, caFile or thumbprint")
	}
	c.set(yaml.Writer{}.Mapping(s.Fields()), "config")
	if !v.writeSecret.V {
		for _, account := range []schema.Text{v.user, {Set: v.password.Set, At: v.password.At}} {
			if account.Set {
				c.notCarried(account.At, "the chart of the vSphere CPI does not write it: the account is in the Secret "+v.secretName.V)
			}
		}
		return config.Password{}
	}
	return chartAccounts(v.secretName.V, logins)
}

// required reports what the chart would make of its example's value.
func (c *chartWriter) required(v schema.Text, what string) {
	if !v.Set {
		c.Errorf(v.At, "is not set: write %s", what)
	}
}

// schema is what the chart would write as configuration.
func (c *chartWriter) schema() *schema.File {
	v := &c.vcenter
	e := &schema.Section{
		Name: v.server.V, At: v.server.At, Server: v.server,
		Datacenters: schema.Split(v.datacenters), Thumbprint: v.thumbprint,
	}
	if v.writeSecret.V {
		e.User, e.Password = v.user, v.password
	}
	s := &schema.File{VCenters: []*schema.Section{e}, VCentersAt: v.server.At, Nodes: c.nodes}
	s.Global.SecretName = v.secretName
	s.Global.SecretNamespace = schema.Text{V: c.namespace, At: v.secretName.At, Set: true}
	s.Global.Port = c.port
	s.Global.IPFamilies = schema.Split(c.families)
	if c.labels.V {
		s.Region, s.Zone = schema.Rule{At: v.region.At, Tag: v.region, Short: true}, schema.Rule{At: v.zone.At, Tag: v.zone, Short: true}
	}
	return s
}

// elsewhere is for a configuration that the chart does not make.
func (c *chartWriter) elsewhere() {
	v := &c.vcenter
	for _, t := range []schema.Text{v.server, v.user, {Set: v.password.Set, At: v.password.At}, v.datacenters, v.region, v.zone, v.thumbprint} {
		if t.Set && t.At.Line > 0 {
			c.notCarried(t.At, "the chart of the vSphere CPI does not write it: the configuration is in the ConfigMap "+v.configMap.V)
		}
	}
	if c.mounted.V != ourFile {
		c.Warnf(v.configMap.At, "the configuration is in the ConfigMap %s under the key %s, and vzones' chart reads the key %s: write it under config, "+
			"or into a ConfigMap with that key that existingConfigMap names", v.configMap.V, c.mounted.V, ourFile)
		return
	}
	c.set(yaml.Scalar(v.configMap.V), "existingConfigMap")
	c.Warnf(v.configMap.At, "the configuration is in the ConfigMap %s: name its Secrets under rbac.secrets, which vzones may read by name only, "+
		"or write the configuration under config", v.configMap.V)
}

// chartAccounts returns values with the account for a Secret.
func chartAccounts(name string, logins []login) config.Password {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	mapping := func(pairs ...*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}
	}
	accounts := mapping()
	for _, l := range logins {
		accounts.Content = append(accounts.Content, yaml.Scalar(l.server),
			mapping(yaml.Scalar("username"), quoted(l.user), yaml.Scalar("password"), quoted(l.password.Reveal())))
	}
	var b bytes.Buffer
	yaml.Encode(&b, mapping(yaml.Scalar("credentials"), mapping(yaml.Scalar(name), accounts)))
	return config.NewPassword(b.String())
}

// placement keeps the Pods on the Nodes that the CPI's chart means.
func (c *chartWriter) placement() {
	none := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	selector := c.selects.node
	if selector == nil {
		selector = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	if yaml.Lookup(selector, controlPlane) == nil {
		// Helm merges mappings: this takes away what vzones' chart selects.
		selector.Content = append(selector.Content, yaml.Scalar(controlPlane), none)
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
		below := yaml.Lookup(mapping, key)
		switch {
		case yaml.Null(v):
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
	return yaml.Of(map[string]any{"nodeAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": terms},
	}})
}
