package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/topology"
)

// CSIOptions are what the CSI driver's file has and a configuration may not.
type CSIOptions struct {
	// ClusterID is the driver's name for the cluster; empty leaves the one that the
	// file has, if it has one.
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
// Written.Private. What the driver refuses, such as a sixth vCenter, is an error of
// type Errors; other errors are those of Parse, and that of a name for the cluster
// which the driver does not take. What the file has for the driver alone is carried
// over. Neither the environment nor the CA files are read.
func ConvertToCSI(file string, data []byte, o CSIOptions) (*Written, error) {
	if len(o.ClusterID) > maxCSIName || !iniHolds(o.ClusterID) {
		return nil, errors.New("the name for the cluster is too long or has a character that the INI format cannot hold: write up to 64 bytes of text")
	}
	l, err := load(file, data, Options{SkipFiles: true})
	if err != nil {
		return nil, err
	}
	c := &csiWriter{loaded: l, problems: &problems{file: file, words: &yamlWords}, o: o}
	var sections []csiSection
	if isINI(data) {
		c.words, sections = &iniWords, csiSections(data)
	}
	fmt.Fprintf(c, "# Written by vzones convert from %s.\n", oneLine(file))
	c.global()
	c.virtualCenters()
	c.categories()
	for _, s := range sections {
		c.carried = append(c.carried, s.at)
		c.section(s.section, s.name)
		c.carry(s.values)
	}
	c.rest()
	idle := c.idle()
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Written{
		Private:  NewPassword(c.String()),
		Warnings: idle,
		Lost:     sorted(c.warnings, func(w Warning) Error { return Error(w) }),
	}, nil
}

type csiWriter struct {
	*loaded
	*problems
	iniWriter
	o CSIOptions
	// carried are the places of what is the driver's own.
	carried []position
}

// carry writes what is the driver's own.
func (c *csiWriter) carry(values []csiValue) {
	for _, v := range values {
		c.carried = append(c.carried, v.at)
		if wrong := v.refused(v.value); wrong != "" {
			c.errorf(v.at, "%s", wrong)
			continue
		}
		c.hold(v.name, v.value, v.at)
		if v.beside != "" {
			c.warnf(v.at, "%s", v.beside)
		}
	}
}

// idle returns the warnings of the file, without those of keys without effect that have
// one in the driver. Of those that are not carried over there it tells.
func (c *csiWriter) idle() []Warning {
	var all []Warning
	for _, w := range c.config.Warnings {
		at := position{w.Line, w.Field}
		if w.Message == forDriver || w.Message == forVolumes || strings.HasPrefix(w.Message, noSession) {
			if slices.Contains(c.carried, at) {
				continue
			}
			c.warnf(at, "is not written: copy into the new file what the CSI driver needs of it")
		}
		all = append(all, w)
	}
	return all
}

// global writes what the driver has once for all vCenters.
func (c *csiWriter) global() {
	c.section("Global", "")
	own := slices.Clone(c.schema.global.own)
	i := slices.IndexFunc(own, func(v csiValue) bool { return v.name == "cluster-id" })
	switch {
	case c.o.ClusterID != "":
		c.key("cluster-id", c.o.ClusterID)
		if i >= 0 {
			c.carried = append(c.carried, own[i].at) // the one in its place is
			own = slices.Delete(own, i, i+1)
		}
	case i < 0:
		c.warnf(position{line: 1}, "there is no cluster-id: write the CSI driver's with --cluster-id, "+
			"unless the driver keeps it in ConfigMap vsphere-csi-cluster-id: beside that one it refuses a cluster-id")
	}
	c.carry(own)
	for _, key := range csiTrust {
		if v := c.common(key.of); v.v != "" {
			c.hold(key.name, v.v, v.at)
		}
	}
}

// csiTrust are the settings that say which certificate a server may have. The driver
// reads them in a vCenter's section since 3.3, and in [Global] always, where they count
// for the vCenters without their own.
var csiTrust = []struct {
	name string
	of   func(settings) text
}{
	{"ca-file", func(s settings) text {
		return text{v: s.authority.v.file, at: s.authority.at, set: s.authority.v.file != ""}
	}},
	{"thumbprint", func(s settings) text { return s.thumbprint }},
}

// common returns the setting that all vCenters have alike, or nothing. Those whose
// certificate is not verified do not count, unless there are no others.
func (c *csiWriter) common(of func(settings) text) text {
	var all, verified []text
	for i, from := range c.fleet {
		all = append(all, of(from))
		if !c.config.VCenters[i].Insecure {
			verified = append(verified, of(from))
		}
	}
	if len(verified) > 0 {
		all = verified
	}
	if slices.ContainsFunc(all, func(v text) bool { return v.v != all[0].v }) {
		return text{}
	}
	return all[0]
}

// verification writes what a vCenter does not have alike with the others.
func (c *csiWriter) verification(vc *VCenter, from settings) {
	given := 0
	for _, key := range csiTrust {
		v := key.of(from)
		if v.v == "" {
			continue
		}
		if given++; v.v != c.common(key.of).v {
			c.hold(key.name, v.v, v.at)
		}
	}
	if given == len(csiTrust) && !vc.Insecure {
		c.warnf(from.thumbprint.at, "beside a ca-file the CSI driver does not look at it: that file alone decides which certificate is right")
	}
}

func (c *csiWriter) virtualCenters() {
	seen := make(map[string]position)
	for i := range c.config.VCenters {
		vc, from := &c.config.VCenters[i], c.fleet[i]
		if i == maxCSIVCenters {
			c.errorf(from.at, "is vCenter %d: the CSI driver takes at most %d: remove one", i+1, maxCSIVCenters)
		}
		address := sameServer(vc.Server, 0)
		if other, again := seen[address]; again {
			c.errorf(from.at, "has the address of %v, by which the CSI driver tells vCenters apart: remove one of the two", other)
		}
		seen[address] = from.at
		if name, wrong := parseServer(from.name); wrong != nil || name != vc.Server {
			c.warnf(from.at, "the name of the entry: the CSI driver names a vCenter by its address alone")
		}
		c.section("VirtualCenter", vc.Server)
		c.account(vc, from)
		c.key("port", strconv.Itoa(vc.Port))
		c.key("insecure-flag", strconv.FormatBool(vc.Insecure))
		c.datacenters(vc, from)
		c.verification(vc, from)
		if e := slices.IndexFunc(c.schema.vcenters, func(e *section) bool { return e.name == from.name }); e >= 0 {
			c.carry(c.schema.vcenters[e].own)
		}
	}
}

func (c *csiWriter) datacenters(vc *VCenter, from settings) {
	for _, name := range vc.Datacenters {
		if form, _ := FormOfDatacenter(name); form == DatacenterNamePattern || form == DatacenterPathPattern {
			c.warnf(from.datacenters.at, "a pattern: the CSI driver fails where several datacenters match it, so write each by its name then")
		}
	}
	if len(vc.Datacenters) > 0 {
		c.hold("datacenters", strings.Join(vc.Datacenters, ", "), from.datacenters.at)
	}
}

// account writes the credentials that the daemon would take. The driver looks at the
// user's name, in 3.7 beside a session manager too.
func (c *csiWriter) account(vc *VCenter, from settings) {
	if from.secret.set {
		for _, data := range c.o.Secrets.of(vc.Secret) {
			user, password, err := c.o.Find(data, vc.Server)
			if err != nil {
				c.warnf(from.secret.at, "the account of %s in %s: %v", vc.Server, elsewhere(vc), err)
				continue
			}
			if user != "" {
				if wrong := refusedByCSI(user); wrong != "" {
					c.errorf(from.secret.at, "the user for %s in %s %s", vc.Server, elsewhere(vc), wrong)
				}
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
	if wrong := refusedByCSI(vc.User); wrong != "" {
		c.errorf(from.user.at, "%s", wrong)
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

const nothingLike = "the CSI driver has nothing like it"

// rest tells of what is set and has no place in the driver's file.
func (c *csiWriter) rest() {
	s := c.schema
	carried := []string{
		"user", "password", "server", "port", "insecureFlag", "datacenters", "caFile", "thumbprint", "secretName", "secretNamespace", "secretsDirectory",
		"labels", "levels",
	}
	var tell func(fields []field)
	tell = func(fields []field) {
		for _, f := range fields {
			if _, ofNodes := f.into.(*table); !ofNodes && slices.Contains(carried, f.name) { // nodes.labels
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
