package convert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/config"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/internal/validate"
	"vzones/config/parse"
	"vzones/config/parse/ini"
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
	// is not an account, and holds no value. It may be nil if there are no Secrets.
	Find func(data map[string][]byte, server string) (user string, password config.Password, err error)
}

// ToCSI returns the CSI driver's file for a configuration of any format, in
// Written.Private. What the driver refuses, such as a sixth vCenter, is an error of
// type Errors; other errors are those of Parse, and that of a name for the cluster
// which the driver does not take. What the file has for the driver alone is carried
// over. Neither the environment nor the CA files are read.
func ToCSI(file string, data []byte, o CSIOptions) (*Written, error) {
	if len(o.ClusterID) > schema.MaxCSIName || !ini.Holds(o.ClusterID) {
		return nil, errors.New("the name for the cluster is too long or has a character that the INI format cannot hold: write up to 64 bytes of text")
	}
	l, err := load(file, data, parse.Options{SkipFiles: true})
	if err != nil {
		return nil, err
	}
	c := &csiWriter{loaded: l, List: &problem.List{File: file, Words: &problem.YAMLWords}, o: o}
	var sections []csiSection
	if ini.Is(data) {
		c.Words, sections = &problem.INIWords, csiSections(data)
	}
	fmt.Fprintf(c, "# Written by vzones convert from %s.\n", oneLine(file))
	c.global()
	c.virtualCenters()
	c.categories()
	for _, s := range sections {
		c.carried = append(c.carried, s.at)
		c.Section(s.section, s.name)
		c.carry(s.values)
	}
	c.unsupported()
	idle := c.remainingWarnings()
	if err := c.Err(); err != nil {
		return nil, err
	}
	return &Written{
		Private:  config.NewPassword(c.String()),
		Warnings: idle,
		Lost:     problem.Sorted(c.Warnings, func(w config.Warning) config.Error { return config.Error(w) }),
	}, nil
}

type csiWriter struct {
	*loaded
	*problem.List
	ini.Writer
	o CSIOptions
	// carried are the places of what is the driver's own.
	carried []problem.Position
}

// carry writes what is the driver's own.
func (c *csiWriter) carry(values []schema.CSIValue) {
	for _, v := range values {
		c.carried = append(c.carried, v.At)
		if wrong := refusedValue(v.CSIKey, v.Value); wrong != "" {
			c.Errorf(v.At, "%s", wrong)
			continue
		}
		c.checkedKey(v.Name, v.Value, v.At)
		if v.Beside != "" {
			c.Warnf(v.At, "%s", v.Beside)
		}
	}
}

// remainingWarnings returns the warnings of the file, without those of keys without effect that have
// one in the driver. Those that are not carried over are noted as lost.
func (c *csiWriter) remainingWarnings() []config.Warning {
	var all []config.Warning
	for _, w := range c.Config.Warnings {
		at := problem.Position{Line: w.Line, Path: w.Field}
		if w.Message == schema.ForDriver || w.Message == schema.ForVolumes || strings.HasPrefix(w.Message, schema.NoSession) {
			if slices.Contains(c.carried, at) {
				continue
			}
			c.Warnf(at, "is not written: copy into the new file what the CSI driver needs of it")
		}
		all = append(all, w)
	}
	return all
}

// global writes what the driver has once for all vCenters.
func (c *csiWriter) global() {
	c.Section("Global", "")
	own := slices.Clone(c.Schema.Global.Own)
	i := slices.IndexFunc(own, func(v schema.CSIValue) bool { return v.Name == "cluster-id" })
	switch {
	case c.o.ClusterID != "":
		c.Key("cluster-id", c.o.ClusterID)
		if i >= 0 {
			c.carried = append(c.carried, own[i].At) // the one in its place is
			own = slices.Delete(own, i, i+1)
		}
	case i < 0:
		c.Warnf(problem.Position{Line: 1}, "there is no cluster-id: write the CSI driver's with --cluster-id, "+
			"unless the driver keeps it in ConfigMap vsphere-csi-cluster-id: beside that one it refuses a cluster-id")
	}
	c.carry(own)
	for _, key := range csiTrust {
		if v := c.common(key.of); v.V != "" {
			c.checkedKey(key.name, v.V, v.At)
		}
	}
}

// csiTrust are the settings that say which certificate a server may have. The driver
// reads them in a vCenter's section since 3.3, and in [Global] always, where they count
// for the vCenters without their own.
var csiTrust = []struct {
	name string
	of   func(validate.Settings) schema.Text
}{

	{"ca-file", func(s validate.Settings) schema.Text {
		return schema.Text{V: s.Authority.V.File, At: s.Authority.At, Set: s.Authority.V.File != ""}
	}},
	{"thumbprint", func(s validate.Settings) schema.Text { return s.Thumbprint }},
}

// common returns the setting that all vCenters have alike, or nothing. Those whose
// certificate is not verified do not count, unless there are no others.
func (c *csiWriter) common(of func(validate.Settings) schema.Text) schema.Text {
	var all, verified []schema.Text
	for i, from := range c.Fleet {
		all = append(all, of(from))
		if !c.Config.VCenters[i].Insecure {
			verified = append(verified, of(from))
		}
	}
	if len(verified) > 0 {
		all = verified
	}
	if slices.ContainsFunc(all, func(v schema.Text) bool { return v.V != all[0].V }) {
		return schema.Text{}
	}
	return all[0]
}

// verification writes what a vCenter does not have alike with the others.
func (c *csiWriter) verification(vc *config.VCenter, from validate.Settings) {
	given := 0
	for _, key := range csiTrust {
		v := key.of(from)
		if v.V == "" {
			continue
		}
		if given++; v.V != c.common(key.of).V {
			c.checkedKey(key.name, v.V, v.At)
		}
	}
	if given == len(csiTrust) && !vc.Insecure {
		c.Warnf(from.Thumbprint.At, "beside a ca-file the CSI driver does not look at it: that file alone decides which certificate is right")
	}
}

func (c *csiWriter) virtualCenters() {
	seen := make(map[string]problem.Position)
	for i := range c.Config.VCenters {
		vc, from := &c.Config.VCenters[i], c.Fleet[i]
		if i == maxCSIVCenters {
			c.Errorf(from.At, "is vCenter %d: the CSI driver takes at most %d: remove one", i+1, maxCSIVCenters)
		}
		address := check.SameServer(vc.Server, 0)
		if other, again := seen[address]; again {
			c.Errorf(from.At, "has the address of %v, by which the CSI driver tells vCenters apart: remove one of the two", other)
		}
		seen[address] = from.At
		if name, wrong := check.ParseServer(from.Name); wrong != nil || name != vc.Server {
			c.Warnf(from.At, "the name of the entry: the CSI driver names a vCenter by its address alone")
		}
		c.Section("VirtualCenter", vc.Server)
		c.account(vc, from)
		c.Key("port", strconv.Itoa(vc.Port))
		c.Key("insecure-flag", strconv.FormatBool(vc.Insecure))
		c.datacenters(vc, from)
		c.verification(vc, from)
		if e := slices.IndexFunc(c.Schema.VCenters, func(e *schema.Section) bool { return e.Name == from.Name }); e >= 0 {
			c.carry(c.Schema.VCenters[e].Own)
		}
	}
}

func (c *csiWriter) datacenters(vc *config.VCenter, from validate.Settings) {
	for _, name := range vc.Datacenters {
		if form, _ := config.FormOfDatacenter(name); form == config.DatacenterNamePattern || form == config.DatacenterPathPattern {
			c.Warnf(from.DatacenterList.At, "a pattern: the CSI driver fails where several datacenters match it, so write each by its name then")
		}
	}
	if len(vc.Datacenters) > 0 {
		c.checkedKey("datacenters", strings.Join(vc.Datacenters, ", "), from.DatacenterList.At)
	}
}

// account writes the credentials that the daemon would take. The driver looks at the
// user's name, in 3.7 beside a session manager too.
func (c *csiWriter) account(vc *config.VCenter, from validate.Settings) {
	if from.SecretRef.Set {
		for _, data := range c.o.Secrets.of(vc.Secret) {
			user, password, err := c.o.Find(data, vc.Server)
			if err != nil {
				c.Warnf(from.SecretRef.At, "the account of %s in %s: %v", vc.Server, elsewhere(vc), err)
				continue
			}
			if user != "" {
				if wrong := refusedByCSI(user); wrong != "" {
					c.Errorf(from.SecretRef.At, "the user for %s in %s %s", vc.Server, elsewhere(vc), wrong)
				}
				c.checkedKey("user", user, from.SecretRef.At)
				c.checkedKey("password", password.Reveal(), from.SecretRef.At)
				return
			}
		}
	}
	if !from.User.Set {
		const write = "no user and password of %s: they are in %s: write both into the new file"
		if from.SecretRef.Set {
			c.Warnf(from.SecretRef.At, write+", or give a Secret's manifest with --credentials", vc.Server, elsewhere(vc))
		} else {
			c.Warnf(from.SecretsDirectory.At, write, vc.Server, elsewhere(vc))
		}
		return
	}
	if wrong := refusedByCSI(vc.User); wrong != "" {
		c.Errorf(from.User.At, "%s", wrong)
	}
	c.checkedKey("user", vc.User, from.User.At)
	c.checkedKey("password", vc.Password.Reveal(), from.Password.At)
}

// checkedKey writes a value if the format can hold it. The value is in no message.
func (c *csiWriter) checkedKey(key, value string, at problem.Position) {
	if !ini.Holds(value) {
		c.Errorf(at, "%s has a character that the INI format cannot hold: change it", key)
		return
	}
	c.Key(key, value)
}

const nothingLike = "the CSI driver has nothing like it"

// unsupported warns of what is set and has no place in the driver's file.
func (c *csiWriter) unsupported() {
	s := c.Schema
	var warn func(fields []schema.Field)
	warn = func(fields []schema.Field) {
		for _, f := range fields {
			if f.CSI {
				continue
			}
			if g, ok := f.Into.(schema.Group); ok {
				warn(g.Fields)
				continue
			}
			if f.Into == schema.Target(&s.Topology.Precedence) && s.Topology.Precedence.V == string(topology.PrecedenceCSI) {
				continue
			}
			if t, ok := f.Into.(*schema.Text); ok && f.Name == "caData" && strings.TrimSpace(t.V) == check.SystemCA {
				continue
			}
			if at, set := schema.Given(f.Into); set {
				c.Warnf(at, nothingLike)
			}
		}
	}
	warn(s.Fields())
	for _, e := range s.VCenters {
		warn(e.Fields(false))
	}
}
