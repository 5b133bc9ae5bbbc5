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

// use tells how a key is treated.
type use int

const (
	own         use = iota
	noEffect        // accepted, with a warning
	unsupported     // refused unless it is empty
)

// A key is a name that may stand in a mapping.
type key struct {
	name  string
	use   use
	field *config.Field // nil unless the key is our own
	why   string        // the reason that it has no effect, or is refused
}

// Why a key of a neighbor has no effect.
const (
	forVolumes   = "has no effect: it is about volumes, which are the CSI driver's"
	forDriver    = "has no effect: it is the CSI driver's"
	forCPI       = "has no effect: it is the vSphere CPI's"
	inTree       = "has no effect: it is the in-tree provider's"
	noSwitch     = "has no effect: several IP families need no switch"
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
	onlyYAML     = "only the YAML format has this: write the file in that format"
	ofSession    = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address with .NAME behind it"
	ofINI = "has no effect, as in the vSphere CPI: it is the INI format's spelling of NAME: write NAME"
)

// The token of a session manager is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

// others are the keys that a neighbor's file has and ours has not: of the CSI driver, in several of
// its releases, of the in-tree provider, and of the CPI's INI format. None of them refuses a file. They
// are those of the structs that the three read with gcfg:
// kubernetes-sigs/vsphere-csi-driver v3.7.0 pkg/common/config/types.go (a session manager's, which 3.6
// has, are in docs/book/vc_shared_sessions.md, on master since pull request 4031), kubernetes/kubernetes
// staging/src/k8s.io/legacy-cloud-providers/vsphere/vsphere.go, and
// kubernetes/cloud-provider-vsphere v1.36.0 pkg/common/config/types_ini_legacy.go.
var others = []struct {
	in config.Section
	// of is nil if the keys are of both formats.
	of *Dialect
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
	{config.SectionGlobal, nil, inTree + ", and all datacenters count: write datacenters instead", "datacenter"},
	{config.SectionGlobal, nil, forVolumes, "datastore default-datastore"},
	{config.SectionGlobal, nil, forCPI, "service-account"},
	{config.SectionEntry, nil, forVolumes, "targetvSANFileShareDatastoreURLs targetvSANFileShareClusters migration-datastore-url default-datastore"},
	{config.SectionEntry, nil, forDriver, "filevolumeactivated"},
	{config.SectionEntry, nil, ofSession, sessionURL + " " + sessionToken},
	{config.SectionEntry, nil, config.SetByCPI, "ipfamilypriority"},
	{config.SectionLabels, &YAML, noCategories, categories},
}

// sectionCategory is a [TopologyCategory "NAME"] of the INI format.
const sectionCategory config.Section = -1

// categories is the key with the CSI driver's tag categories.
const categories = "topology-categories"

// iniFields are the CSI driver's way to say where labels come from, which the INI format alone has.
var iniFields = []config.Field{
	{In: config.SectionRoot, Key: "TopologyCategory", Kind: config.KindEntries, Of: sectionCategory},
	{In: config.SectionLabels, Key: categories, Kind: config.KindNames},
	{In: sectionCategory, Key: "label", Kind: config.KindText},
}

// keysOf returns the keys of a section in a format: those of the table, in YAML their spelling in the INI
// format, which the chart of the CPI writes there for caFile, and those of neighbors.
func keysOf(s config.Section, d *Dialect) []key {
	var all, spelt []key
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
		case dashed != f.Key && !f.YAMLOnly && !f.Ours && s != config.SectionRoot && s != config.SectionLevel && s != config.SectionRule:
			spelt = append(spelt, key{name: dashed, use: noEffect, why: strings.ReplaceAll(ofINI, "NAME", f.Key)})
		}
		all = append(all, k)
	}
	all = append(all, spelt...)
	for i := range iniFields {
		if f := &iniFields[i]; f.In == s && d == &INI {
			all = append(all, key{name: f.Key, field: f})
		}
	}
	for _, o := range others {
		if o.in == s && (o.of == nil || o.of == d) {
			for name := range strings.FieldsSeq(o.keys) {
				all = append(all, key{name: name, use: noEffect, why: strings.ReplaceAll(o.why, "NAME", name)})
			}
		}
	}
	return all
}

// secretKeys are the keys whose values are in no message.
var secretKeys = []string{"password", sessionToken}

// gluedSecret returns where in a text the key of a secret ends, in whatever spelling, to
// which something is glued that may be the secret. Without one it returns 0.
func gluedSecret(s string) int {
	for _, secret := range secretKeys {
		want := quote.Folded(secret)
		for end := range min(len(s), 2*len(secret)) {
			if quote.Folded(s[:end]) == want && quote.Folded(s[end:]) != "" {
				return end
			}
		}
		if i := strings.IndexAny(s, ":= \t"); i > 0 && quote.Nearest(s[:i], []string{secret}) != "" {
			return i
		}
	}
	return 0
}

// shownName shows a name, but for a secret that may stand in its place with its key.
func shownName(name string) string {
	if end := gluedSecret(name); end > 0 {
		return name[:end] + "…"
	}
	return name
}

// shownKey returns the beginning of a text that can be a key: a secret may be glued to it.
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

// unknown reports a key, or a section of the INI format, that does not belong in this place.
func (d *decoder) unknown(raw *rawValue, keys []key, into *Section) {
	what := "key"
	form := "%s"
	if d.Dialect == &INI && into.In == config.SectionRoot {
		what = "section"
		form = "[%s]"
	}
	known := names(keys, func(key) bool { return true })
	isSpelling := func(name string) bool { return quote.Folded(name) == quote.Folded(raw.key) }
	if what == "key" && !slices.ContainsFunc(known, isSpelling) && d.misplaced(raw) {
		return
	}
	near := quote.Nearest(raw.key, known)
	if near == "" {
		if what == "key" && isEntry(raw) {
			d.Errorf(raw.at, "unknown key in this place: the entry of a vCenter belongs under vcenter")
			d.root.V("vcenter").Bad = true
			return
		}
		known = names(keys, func(k key) bool { return k.use == own })
		slices.Sort(known)
		d.Errorf(raw.at, "unknown %s: remove it, or write one of %s", what, strings.Join(known, ", "))
		return
	}
	meant := keys[slices.Index(known, near)]
	if meant.use == unsupported {
		d.Errorf(raw.at, "%s", meant.why)
		return
	}
	d.Errorf(raw.at, "unknown %s: did you mean "+form+"?", what, near)
	markPresent(into, meant, raw.at)
}

// misplaced reports a key that is known in other sections alone, and marks it as given there.
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
			markPresent(p.section, *k, raw.at)
		}
	}
	if len(below) > 0 {
		belongs = append(belongs, fmt.Sprintf(d.Dialect.Place, alternatives(below)))
	}
	if len(belongs) == 0 {
		return false
	}
	d.Errorf(raw.at, "unknown key in this place: %s belongs %s", name, alternatives(belongs))
	return true
}

// A place is a section that a file can have.
type place struct {
	// path names the section in messages. It is empty for the root.
	path string
	keys []key
	// section is the content. It is nil for the sections of which a file has several: rules, entries and levels.
	section *Section
}

// find returns the key of a place that a node is, in whatever spelling, or nil.
func (p *place) find(raw *rawValue) *key {
	for i, k := range p.keys {
		if k.use == own && quote.Folded(k.name) == quote.Folded(raw.key) && raw.fits(k.field.Kind) {
			return &p.keys[i]
		}
	}
	return nil
}

// placesOf returns the sections with keys that a file can have, by the table of keys.
func placesOf(root *Section, dialect *Dialect) (all []place) {
	var add func(name, form string, in config.Section, section *Section)
	add = func(name, form string, in config.Section, section *Section) {
		keys := keysOf(in, dialect)
		if dialect == &YAML || in != config.SectionRoot { // the root of the INI format has sections alone
			all = append(all, place{fmt.Sprintf(form, name), keys, section})
		}
		for _, k := range keys {
			sub := strings.TrimPrefix(name+"."+k.name, ".")
			switch {
			case k.use != own:
			case k.field.Kind == config.KindMapping:
				add(sub, dialect.Section, k.field.Of, section.sub(k.field.Key))
			case k.field.Kind == config.KindRule && dialect == &YAML:
				add(sub, dialect.Section, k.field.Of, nil)
			case k.field.Kind == config.KindEntries, k.field.Kind == config.KindLevels:
				add(sub, dialect.Element, k.field.Of, nil)
			}
		}
	}
	add("", "%s", config.SectionRoot, root)
	return all
}

// isEntry reports whether a node in place of a key is the entry of a vCenter, whose name can be any.
func isEntry(raw *rawValue) bool {
	return raw.shape == mapping && isFullAddress(raw.key) || hasServer(raw)
}

func hasServer(raw *rawValue) bool {
	return raw.shape == mapping && slices.ContainsFunc(raw.children(shownKey), func(c *rawValue) bool { return c.key == "server" })
}

func names(keys []key, are func(key) bool) []string {
	var all []string
	for _, k := range keys {
		if are(k) {
			all = append(all, k.name)
		}
	}
	return all
}

// markPresent marks the key that a misspelled one means as given, if only wrongly, so that it is not reported as
// missing too.
func markPresent(into *Section, k key, at Position) {
	if k.use != own {
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
			v.At = at
			v.Set = true
			v.Bad = true
		}
	}
}
