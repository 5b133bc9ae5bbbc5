package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/topology"
)

// maxCSIVCenters is how many vCenters the CSI driver takes.
const maxCSIVCenters = 5

// CSIOptions are what the CSI driver's file has and a configuration may not.
type CSIOptions struct {
	// ClusterID is the driver's name for the cluster; empty leaves it out.
	ClusterID string
	// Secrets have the credentials that are not in the configuration. As in the
	// daemon, they win over those that are.
	Secrets Secrets
	// Find returns the account for an address that the data of a Secret has, as the
	// daemon takes it; both are empty if it has none. An error says why what it has
	// is no account, and tells no value. It may be nil if there are no Secrets.
	Find func(data map[string][]byte, server string) (user string, password Password, err error)
}

// ConvertToCSI returns the CSI driver's file for a configuration of any format, in
// Written.Private. What the driver cannot have at all, such as a sixth vCenter, is
// an error of type Errors; other errors are those of Parse, and that of a name for
// the cluster which the driver does not take. Neither the
// environment nor the CA files are read.
func ConvertToCSI(file string, data []byte, o CSIOptions) (*Written, error) {
	// The driver's own bound.
	if len(o.ClusterID) > 64 || !iniHolds(o.ClusterID) {
		return nil, errors.New("the name for the cluster is too long or has a character that the INI format cannot hold: write up to 64 bytes of text")
	}
	l, err := load(file, data, Options{SkipFiles: true})
	if err != nil {
		return nil, err
	}
	c := &csiWriter{loaded: l, problems: &problems{file: file}, o: o}
	fmt.Fprintf(c, "# Written by vzones convert from %s.\n", oneLine(file))
	c.global()
	c.virtualCenters()
	c.categories()
	c.rest()
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Written{
		Private:  NewPassword(c.String()),
		Warnings: l.config.Warnings,
		Lost:     sorted(c.warnings, func(w Warning) Error { return Error(w) }),
	}, nil
}

type csiWriter struct {
	*loaded
	*problems
	iniWriter
	o CSIOptions
}

// global writes what the driver has once for all vCenters.
func (c *csiWriter) global() {
	c.section("Global", "")
	if c.o.ClusterID != "" {
		c.key("cluster-id", c.o.ClusterID)
	}
	c.verification("ca-file", func(s settings) text {
		return text{v: s.authority.v.file, at: s.authority.at, set: s.authority.v.file != ""}
	})
	c.verification("thumbprint", func(s settings) text { return s.thumbprint })
}

// verification writes a setting that all vCenters have alike, those aside whose
// certificate is not verified.
func (c *csiWriter) verification(key string, of func(settings) text) {
	var all []text
	for i, from := range c.fleet {
		if !c.config.VCenters[i].Insecure {
			all = append(all, of(from))
		}
	}
	differs := func(v text) bool { return v.v != all[0].v }
	if !slices.ContainsFunc(all, differs) {
		if len(all) > 0 && all[0].v != "" {
			c.hold(key, all[0].v, all[0].at)
		}
		return
	}
	for _, v := range all {
		if v.v != "" {
			c.warnf(v.at, "the CSI driver has one %s for all vCenters, and here they differ", key)
		}
	}
}

func (c *csiWriter) virtualCenters() {
	seen := make(map[string]position)
	for i := range c.config.VCenters {
		vc, from := &c.config.VCenters[i], c.fleet[i]
		if i == maxCSIVCenters {
			c.errorf(from.at, "is vCenter %d: the CSI driver takes at most %d: remove one", i+1, maxCSIVCenters)
		}
		if other, again := seen[vc.Server]; again {
			c.errorf(from.at, "has the address of %v, by which the CSI driver tells vCenters apart: remove one of the two", other)
		}
		seen[vc.Server] = from.at
		c.section("VirtualCenter", vc.Server)
		c.account(vc, from)
		c.key("port", strconv.Itoa(vc.Port))
		c.key("insecure-flag", strconv.FormatBool(vc.Insecure))
		if len(vc.Datacenters) > 0 {
			c.hold("datacenters", strings.Join(vc.Datacenters, ", "), from.datacenters.at)
		}
	}
}

// account writes the credentials that the daemon would take.
func (c *csiWriter) account(vc *VCenter, from settings) {
	if from.secret.set {
		for _, data := range c.o.Secrets.of(vc.Secret) {
			user, password, err := c.o.Find(data, vc.Server)
			if err != nil {
				c.warnf(from.secret.at, "the account of %s in %s: %v", vc.Server, elsewhere(vc), err)
				continue
			}
			if user != "" {
				c.hold("user", user, from.secret.at)
				c.hold("password", password.Reveal(), from.secret.at)
				return
			}
		}
	}
	if !from.user.set {
		const write = "no user and password of %s: they are in %s: write both into the new file"
		if from.secret.set {
			c.warnf(from.secret.at, write+", or give a Secret's manifest with --credentials", vc.Server, elsewhere(vc))
		} else {
			c.warnf(from.directory.at, write, vc.Server, elsewhere(vc))
		}
		return
	}
	c.hold("user", vc.User, from.user.at)
	c.hold("password", vc.Password.Reveal(), from.password.at)
}

// hold writes a value if the format can hold it. The value is in no message.
func (c *csiWriter) hold(key, value string, at position) {
	if !iniHolds(value) {
		c.errorf(at, "%s has a character that the INI format cannot hold: change it", key)
		return
	}
	c.key(key, value)
}

// categories writes those of required labels: the driver requires each.
func (c *csiWriter) categories() {
	var names []string
	roles := make(map[string]string)
	for _, label := range c.labels() {
		name := label.rule.Category
		if label.rule.Value != nil {
			c.warnf(label.from.value.at, "the value is composed, and the CSI driver takes the plain tags")
		}
		switch {
		case name == "" && label.rule.Value != nil:
		case label.rule.HostGroup != "":
			c.warnf(label.at, "the value is from DRS host groups, and the CSI driver reads tags only")
		case name == "":
			c.warnf(label.at, "the value is from the inventory, and the CSI driver reads tags only")
		case !label.rule.Required:
			c.warnf(label.at, "the label is optional, and the CSI driver requires each category")
		case strings.Contains(name, ","):
			c.errorf(label.at, "has a comma in the name of the category, which separates two in the CSI driver's file: rename it")
		case slices.Contains(names, name):
			if label.builtIn() && roles[name] != "" {
				// The driver, too, knows the zone alone of one category for both.
				c.warnf(c.schema.region.at, "the category is the zone's too, and the CSI driver's file gives a category one label: where vzones reads it, there is no region")
				roles[name] = label.rule.Label
			}
		default:
			names = append(names, name)
			if len(names) == maxCategories+1 {
				c.errorf(label.at, "is category %d: the CSI driver takes at most %d: remove one", len(names), maxCategories)
			}
			if label.builtIn() {
				roles[name] = label.rule.Label
			}
		}
	}
	if len(names) == 0 {
		return
	}
	c.section("Labels", "")
	c.key("topology-categories", strings.Join(names, ","))
	for _, name := range names {
		if roles[name] != "" {
			c.section("TopologyCategory", name)
			c.key("label", roles[name])
		}
	}
}

// rest tells of what is set and has no place in the driver's file.
func (c *csiWriter) rest() {
	const nothingLike = "the CSI driver has nothing like it"
	s := c.schema
	carried := []string{
		"user", "password", "server", "port", "insecureFlag", "datacenters", "caFile", "thumbprint", "secretName", "secretNamespace", "secretsDirectory",
		"labels", "levels",
	}
	var tell func(fields []field)
	tell = func(fields []field) {
		for _, f := range fields {
			if slices.Contains(carried, f.name) {
				continue
			}
			if g, ok := f.into.(group); ok {
				tell(g.fields)
				continue
			}
			if f.into == &s.topology.precedence && s.topology.precedence.v == string(topology.PrecedenceCSI) {
				continue
			}
			if t, ok := f.into.(*text); ok && f.name == "caData" && strings.TrimSpace(t.v) == systemCA {
				continue
			}
			if at, set := given(f.into); set {
				c.warnf(at, nothingLike)
			}
		}
	}
	tell(s.fields())
	for _, e := range s.vcenters {
		tell(e.fields(false))
	}
}

// given returns where a single value is set, if it is one and set.
func given(into any) (position, bool) {
	switch into := into.(type) {
	case *text:
		return into.at, into.set
	case *number:
		return into.at, into.set
	case *toggle:
		return into.at, into.set
	case *list:
		return into.at, into.set
	case *table:
		if len(into.rows) > 0 {
			return into.rows[0].at, true
		}
	}
	return position{}, false
}
