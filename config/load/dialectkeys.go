package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/internal/quote"
)

type use int

const (
	supported   use = iota
	noEffect        // Accepted with a warning.
	unsupported     // Rejected unless empty.
)

// A key is a valid name in a mapping.
type key struct {
	name  string
	use   use
	field *config.Field // Not nil if use is supported.
	why   string        // The reason why it is ignored or rejected.
}

// Reasons why a key of another program has no effect.
const (
	forVolumes   = "has no effect: it configures volumes, which the CSI driver manages"
	forDriver    = "has no effect: it belongs to the CSI driver"
	forCPI       = "has no effect: it belongs to the vSphere CPI"
	inTree       = "has no effect: it belongs to the in-tree provider"
	noSwitch     = "has no effect: several IP families need no switch"
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
	onlyYAML     = "is supported only in the YAML format: write the file in that format"
	ofSession    = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address followed by .NAME"
	ofINI = "has no effect, as in the vSphere CPI: it is the INI format's spelling of NAME: write NAME"
)

// The keys of a session manager. Its token is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

// neighborKeys are keys of other programs' files that config.Fields lacks. They come from the structs
// that the CSI driver, the in-tree provider and the CPI read with gcfg:
// kubernetes-sigs/vsphere-csi-driver v3.7.0 pkg/common/config/types.go (for the session manager of
// 3.6 see docs/book/vc_shared_sessions.md on master since pull request 4031), kubernetes/kubernetes
// staging/src/k8s.io/legacy-cloud-providers/vsphere/vsphere.go, and
// kubernetes/cloud-provider-vsphere v1.36.0 pkg/common/config/types_ini_legacy.go.
var neighborKeys = []struct {
	section config.Section
	// dialect is nil for keys of both formats.
	dialect *Dialect
	// why contains NAME in place of the key.
	why  string
	keys string
}{
	{config.SectionRoot, nil, forVolumes, "Workspace Disk NetPermissions NetPermission Snapshot"},
	{config.SectionRoot, nil, inTree, "Network"},
	{config.SectionRoot, nil, forDriver, "FeatureStates GC"},
	{config.SectionRoot, &YAML, forVolumes, "workspace disk netpermissions netpermission snapshot"},
	{config.SectionRoot, &YAML, inTree, "network"},
	{config.SectionRoot, &YAML, forDriver, "featurestates gc"},
	{config.SectionRoot, &YAML, noCategories, "TopologyCategory topologycategory"},
	{config.SectionGlobal, nil, forDriver, "cluster-id supervisor-id cluster-distribution cnsregistervolumes-cleanup-intervalinmin " +
		"cnspvcprotection-cleanup-intervalinmin cnsvolumeoperationrequest-cleanup-intervalinmin volumemigration-cr-cleanup-intervalinmin " +
		"vc-client-timeout csi-auth-check-intervalinmin csi-fetch-preferred-datastores-intervalinmin query-limit list-volume-threshold"},
	{config.SectionGlobal, nil, forDriver + ": write server instead", "vcenterip"},
	{config.SectionGlobal, nil, ofSession, sessionURL + " " + sessionToken},
	{config.SectionGlobal, nil, inTree, "working-dir vm-uuid vm-name secret-not-managed"},
	{config.SectionGlobal, nil, inTree + ", and all datacenters are used: write datacenters instead", "datacenter"},
	{config.SectionGlobal, nil, forVolumes, "datastore default-datastore"},
	{config.SectionGlobal, nil, forCPI, "service-account"},
	{config.SectionEntry, nil, forVolumes, "targetvSANFileShareDatastoreURLs targetvSANFileShareClusters migration-datastore-url default-datastore"},
	{config.SectionEntry, nil, forDriver, "filevolumeactivated"},
	{config.SectionEntry, nil, ofSession, sessionURL + " " + sessionToken},
	{config.SectionEntry, nil, config.SetByCPI, "ipfamilypriority"},
	{config.SectionLabels, &YAML, noCategories, categories},
}

// sectionCategory is [TopologyCategory "NAME"] in the INI format.
const sectionCategory config.Section = -1

const categories = "topology-categories"

// iniFields are the CSI driver's keys for the sources of labels.
var iniFields = []config.Field{
	{In: config.SectionRoot, Key: "TopologyCategory", Kind: config.KindEntries, Subsection: sectionCategory},
	{In: config.SectionLabels, Key: categories, Kind: config.KindNames},
	{In: sectionCategory, Key: "label", Kind: config.KindText},
}

// keysOf returns the keys of a section in config.Fields, neighborKeys and, in YAML, the INI spellings,
// one of which the CPI's chart writes (for caFile).
func keysOf(s config.Section, d *Dialect) []key {
	var keys, spelt []key
	for _, f := range config.FieldsOf(s) {
		k := key{name: f.Key, field: f}
		dashed := Dash(f.Key)
		switch {
		case d == &INI && f.YAMLOnly:
			k.use = unsupported
			k.why = onlyYAML
		case f.Unsupported != "":
			k.use = unsupported
			k.why = f.Unsupported
		case f.NoEffect != "":
			k.use = noEffect
			k.why = f.NoEffect
		}
		switch {
		case d == &INI:
			k.name = cmp.Or(f.INISection, dashed)
		case dashed != f.Key && !f.YAMLOnly && !f.NotInCPI && s != config.SectionRoot && s != config.SectionLevel && s != config.SectionRule:
			spelt = append(spelt, key{name: dashed, use: noEffect, why: strings.ReplaceAll(ofINI, "NAME", f.Key)})
		}
		keys = append(keys, k)
	}
	keys = append(keys, spelt...)
	for i := range iniFields {
		if f := &iniFields[i]; f.In == s && d == &INI {
			keys = append(keys, key{name: f.Key, field: f})
		}
	}
	for _, o := range neighborKeys {
		if o.section == s && (o.dialect == nil || o.dialect == d) {
			for name := range strings.FieldsSeq(o.keys) {
				keys = append(keys, key{name: name, use: noEffect, why: strings.ReplaceAll(o.why, "NAME", name)})
			}
		}
	}
	return keys
}

// secretKeys are the keys whose values never appear in messages.
var secretKeys = []string{"password", sessionToken}

// gluedSecret returns the end of a secret's key, in any spelling, if a text begins with it and may
// continue with the secret, or else 0.
func gluedSecret(s string) int {
	for _, secret := range secretKeys {
		folded := quote.Folded(secret)
		for end := range min(len(s), 2*len(secret)) {
			if quote.Folded(s[:end]) == folded && quote.Folded(s[end:]) != "" {
				return end
			}
		}
		if i := strings.IndexAny(s, ":= \t"); i > 0 && quote.Nearest(s[:i], []string{secret}) != "" {
			return i
		}
	}
	return 0
}

// shownName returns a name for a message, without a secret that may follow its key.
func shownName(name string) string {
	if end := gluedSecret(name); end > 0 {
		return name[:end] + "…"
	}
	return name
}

// shownKey returns the beginning of a text that can be a key, since a secret may follow it.
func shownKey(key string) string {
	key = shownName(key)
	end := strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	})
	if end >= 0 {
		return key[:end] + "…"
	}
	return key
}

func (d *decoder) unknown(raw *rawValue, keys []key, into *Section) {
	noun := "key"
	form := "%s"
	if d.Dialect == &INI && into.In == config.SectionRoot {
		noun = "section"
		form = "[%s]"
	}
	known := names(keys, func(key) bool { return true })
	isSpelling := func(name string) bool { return quote.Folded(name) == quote.Folded(raw.key) }
	if noun == "key" && !slices.ContainsFunc(known, isSpelling) && d.misplaced(raw) {
		return
	}
	near := quote.Nearest(raw.key, known)
	if near == "" {
		if noun == "key" && isEntry(raw) {
			d.Errorf(raw.pos, "unknown key in this place: the entry of a vCenter belongs under vcenter")
			d.root.V("vcenter").Bad = true
			return
		}
		known = names(keys, func(k key) bool { return k.use == supported })
		slices.Sort(known)
		d.Errorf(raw.pos, "unknown %s: remove it, or write one of %s", noun, strings.Join(known, ", "))
		return
	}
	meant := keys[slices.Index(known, near)]
	if meant.use == unsupported {
		d.Errorf(raw.pos, "%s", meant.why)
		return
	}
	d.Errorf(raw.pos, "unknown %s: did you mean "+form+"?", noun, near)
	markPresent(into, meant, raw.pos)
}

// misplaced reports a key of other sections, and marks it as present there.
func (d *decoder) misplaced(raw *rawValue) bool {
	var name string
	var belongs, below []string
	for _, p := range d.places {
		k := p.find(raw)
		switch {
		case k == nil:
			continue
		case p.path == "":
			belongs = append(belongs, "at the top level")
		default:
			below = append(below, p.path)
		}
		name = k.name
		if p.section != nil {
			markPresent(p.section, *k, raw.pos)
		}
	}
	if len(below) > 0 {
		belongs = append(belongs, fmt.Sprintf(d.Dialect.Place, alternatives(below)))
	}
	if len(belongs) == 0 {
		return false
	}
	d.Errorf(raw.pos, "unknown key in this place: %s belongs %s", name, alternatives(belongs))
	return true
}

type place struct {
	// path is empty for the root.
	path string
	keys []key
	// section is nil for repeatable sections: rules, entries and levels.
	section *Section
}

// find ignores letter case, hyphens and underscores.
func (p *place) find(raw *rawValue) *key {
	for i, k := range p.keys {
		if k.use == supported && quote.Folded(k.name) == quote.Folded(raw.key) && raw.fits(k.field.Kind) {
			return &p.keys[i]
		}
	}
	return nil
}

func placesOf(root *Section, dialect *Dialect) (all []place) {
	var add func(name, form string, in config.Section, section *Section)
	add = func(name, form string, in config.Section, section *Section) {
		keys := keysOf(in, dialect)
		if dialect == &YAML || in != config.SectionRoot { // The root of the INI format has sections only.
			all = append(all, place{fmt.Sprintf(form, name), keys, section})
		}
		for _, k := range keys {
			sub := strings.TrimPrefix(name+"."+k.name, ".")
			switch {
			case k.use != supported:
			case k.field.Kind == config.KindMapping:
				add(sub, dialect.Section, k.field.Subsection, section.sub(k.field.Key))
			case k.field.Kind == config.KindRule && dialect == &YAML:
				add(sub, dialect.Section, k.field.Subsection, nil)
			case k.field.Kind == config.KindEntries, k.field.Kind == config.KindLevels:
				add(sub, dialect.Element, k.field.Subsection, nil)
			}
		}
	}
	add("", "%s", config.SectionRoot, root)
	return all
}

// isEntry reports whether a value in place of a key is a vCenter's entry, whose name can be any text.
func isEntry(raw *rawValue) bool {
	return raw.shape == mapping && isFullAddress(raw.key) || hasServer(raw)
}

func hasServer(raw *rawValue) bool {
	return raw.shape == mapping && slices.ContainsFunc(raw.children(shownKey), func(c *rawValue) bool { return c.key == "server" })
}

func names(keys []key, matches func(key) bool) []string {
	var found []string
	for _, k := range keys {
		if matches(k) {
			found = append(found, k.name)
		}
	}
	return found
}

// markPresent marks the key that a misspelling means as invalid, so that it is not reported as missing.
func markPresent(into *Section, k key, pos Position) {
	if k.use != supported {
		return
	}
	v := into.V(k.field.Key)
	switch k.field.Kind {
	case config.KindMapping:
		into.sub(k.field.Key).Unsure = true
	case config.KindRule:
		into.sub(k.field.Key).Bad = true
	case config.KindEntries:
		v.Bad = true
	case config.KindLevels, config.KindLabels:
	default:
		if !v.Set {
			v.At = pos
			v.Set = true
			v.Bad = true
		}
	}
}
