package convert

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"vzones/config"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/parse/yaml"
)

// podLabels are carried over but for those that vzones' chart sets itself.
type podLabels struct {
	v    *chartValues
	into *carried
}

func (l podLabels) Take(from schema.Source) {
	d, p := taken(from)
	l.into.Take(from)
	n := l.into.node
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains([]string{"name", "component", "tier"}, key.Value) {
			l.v.notCarried(d, problem.Position{Line: key.Line, Path: problem.Child(p.At.Path, key.Value)}, "vzones' chart sets this label itself: its selector needs it")
			continue
		}
		kept = append(kept, key, n.Content[i+1])
	}
	if n.Content = kept; len(kept) == 0 {
		l.into.node = nil
	}
}

// A setting is the value of vzones' chart that stands for a flag.
type setting struct {
	to []string
	// read makes the value of a flag's, or returns nil where the chart takes none such.
	read func(string) *yaml.Node
	// wants is what read takes.
	wants string
}

// settingOf are those of the flags that the chart sets itself, and would contradict in extraArgs.
var settingOf = map[string]setting{
	"secure-port":                     {[]string{"port"}, between(1, 65535), "a port from 1 to 65535"},
	"v":                               {verbosity, between(0, 10), "a number from 0 to 10"},
	"logging-format":                  {[]string{"logging", "format"}, wordOf("text", "json"), "text or json"},
	"leader-elect-resource-name":      {[]string{"leaderElection", "resourceName"}, matching(check.IsSecretName), "the name of a Lease"},
	"leader-elect-resource-namespace": {[]string{"leaderElection", "resourceNamespace"}, matching(check.IsNamespace), "the name of a namespace"},
	"leader-elect-lease-duration":     {[]string{"leaderElection", "leaseDuration"}, matching(isDuration), aDuration},
	"leader-elect-renew-deadline":     {[]string{"leaderElection", "renewDeadline"}, matching(isDuration), aDuration},
	"leader-elect-retry-period":       {[]string{"leaderElection", "retryPeriod"}, matching(isDuration), aDuration},
}

const (
	aDuration  = "a duration such as 15s"
	kubeconfig = "names a file in the Pod, which vzones' chart has not: set kubeconfig.secretName to a Secret with a kubeconfig"
)

// dropped are flags that the chart sets itself, and for which it has no value.
var dropped = map[string]string{
	"cloud-config":               "vzones' chart says where the file is: it has a folder of its own for it",
	"cloud-provider":             "vzones' chart sets it, to vsphere",
	"kubeconfig":                 kubeconfig,
	"authentication-kubeconfig":  kubeconfig,
	"authorization-kubeconfig":   kubeconfig,
	"bind-address":               "vzones' chart asks its probes at 127.0.0.1 or the Pod's address, so vzones serves on all",
	"leader-elect-resource-lock": "vzones takes a Lease, whose name and namespace are under leaderElection",
}

func between(low, high int) func(string) *yaml.Node {
	return func(s string) *yaml.Node {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return nil
		}
		return yaml.Of(n)
	}
}

func wordOf(words ...string) func(string) *yaml.Node {
	return matching(func(s string) bool { return slices.Contains(words, s) })
}

func matching(fits func(string) bool) func(string) *yaml.Node {
	return func(s string) *yaml.Node {
		if !fits(s) {
			return nil
		}
		return yaml.Scalar(s)
	}
}

func isDuration(s string) bool {
	d, err := time.ParseDuration(s)
	return err == nil && d > 0 && strings.Trim(s, "0123456789.msh") == ""
}

// arguments writes the flags that the chart passes on, as values where vzones' chart has some.
func (c *chartWriter) arguments() {
	n := c.params.node
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	var flags []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		at := problem.Position{Line: key.Line, Path: problem.Child(c.params.at.Path, key.Value)}
		if v.Kind != yaml.ScalarNode {
			c.notCarried(at, "is not a single value")
		} else if flag := c.argument(key.Value, v, at); flag != "" {
			flags = append(flags, yaml.Scalar(flag))
		}
	}
	if len(flags) > 0 {
		c.set(&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: flags}, "extraArgs")
	}
}

// argument returns a flag, or nothing where it is a value or not carried over. The chart passes
// one alone whose value asks for nothing, so that a false is a true.
func (c *chartWriter) argument(key string, v *yaml.Node, at problem.Position) string {
	name := strings.ReplaceAll(key, "_", "-") // as the daemon's framework reads it
	to, known := settingOf[name]
	why, drop := dropped[name]
	switch {
	case drop:
		c.notCarried(at, why)
	case name == "leader-elect":
		c.leaderElect(v, at)
	case known && vanishes(v):
		c.notCarried(at, "the vSphere CPI's chart passes the flag without this value: write "+strings.Join(to.to, ".")+", "+to.wants)
	case known:
		value := to.read(v.Value)
		if value == nil {
			c.notCarried(at, "is not "+to.wants+": write "+strings.Join(to.to, "."))
			break
		}
		c.set(value, to.to...)
	case vanishes(v):
		if !yaml.Unset(v) {
			c.Warnf(at, "the vSphere CPI's chart passes --%s without the value, and so do the new values: correct it in extraArgs", key)
		}
		return "--" + key
	default:
		return "--" + key + "=" + v.Value
	}
	return ""
}

// leaderElect keeps the leader election on: the CPI's chart has a DaemonSet.
func (c *chartWriter) leaderElect(v *yaml.Node, at problem.Position) {
	on, err := strconv.ParseBool(v.Value)
	switch {
	case vanishes(v):
		if !yaml.Unset(v) {
			c.Warnf(at, "the vSphere CPI's chart passes --leader-elect without the value, which means true: so does leaderElection.enabled in the new values")
		}
	case err != nil || !on:
		c.notCarried(at, "each Node's daemon would work, beside the others: where one alone is to run, without a Lease, set leaderElection.enabled: false, "+
			"workload.kind: Deployment and workload.replicas: 1")
		return
	}
	c.set(yaml.Of(true), "leaderElection", "enabled")
}

// vanishes reports whether a template takes a value for false. A text in quotes is none but the
// empty one.
func vanishes(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		return err == nil && f == 0
	case "!!bool":
		return strings.EqualFold(n.Value, "false")
	}
	return yaml.Unset(n)
}

// environment takes out of the variables what has a value of its own, and passwords. It comes
// before the configuration is written.
func (c *chartWriter) environment() {
	n := c.env.node
	if n == nil || n.Kind != yaml.SequenceNode {
		c.env.node = nil
		return
	}
	n.Content = slices.DeleteFunc(n.Content, func(v *yaml.Node) bool {
		at, name := problem.Position{Line: v.Line, Path: c.env.at.Path}, yaml.Lookup(v, "name")
		switch {
		case name == nil || yaml.Lookup(v, "value") != nil && strings.Contains(strings.ToUpper(name.Value), "PASSWORD"):
			c.notCarried(at, "a variable without a name, or with a password in it, is not written: give the account under credentials")
		case name.Value == "SKIP_NODE_DELETION" && c.vcenter.writeConfig.V:
			c.nodes.SkipDeletion = schema.Toggle{V: true, At: at, Set: true} // whatever its value
		default:
			return false
		}
		return true
	})
	if len(n.Content) == 0 {
		c.env.node = nil
	}
}

// variable returns the last variable of a name, or nil.
func (c *chartWriter) variable(name string) *yaml.Node {
	var found *yaml.Node
	for _, v := range c.env.node.Content {
		if n := yaml.Lookup(v, "name"); n != nil && n.Value == name {
			found = v
		}
	}
	return found
}

// variables writes the variables that are left, and the rights that they ask for.
func (c *chartWriter) variables() {
	if c.env.node == nil {
		return
	}
	c.set(c.env.node, "extraEnv")
	if c.variable("SKIP_NODE_DELETION") != nil {
		c.set(yaml.Of(false), "rbac", "deleteNodes")
	}
	var ref config.SecretRef
	if c.vcenter.writeConfig.V {
		ref = config.SecretRef{Name: c.vcenter.secretName.V, Namespace: c.namespace}
	}
	var last problem.Position
	for name, into := range map[string]*string{"VSPHERE_SECRET_NAME": &ref.Name, "VSPHERE_SECRET_NAMESPACE": &ref.Namespace} {
		v := c.variable(name)
		if v == nil {
			continue
		}
		*into = "" // of valueFrom, which only the cluster knows
		if value := yaml.Lookup(v, "value"); value != nil {
			*into = value.Value
		}
		if v.Line > last.Line {
			last = problem.Position{Line: v.Line, Path: c.env.at.Path}
		}
	}
	switch {
	case last.Line == 0:
	case ref.Check() != nil:
		c.Warnf(last, "names a Secret that the values do not: write its name and namespace under rbac.secrets, since vzones may read Secrets by name only")
	default:
		c.set(yaml.Of([]map[string]string{{"name": ref.Name, "namespace": ref.Namespace}}), "rbac", "secrets")
	}
}
