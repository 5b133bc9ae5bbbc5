package schema

import (
	"slices"
	"strings"

	"vzones/config/problem"
)

// What the file of a neighbor has and this schema has not: of the CSI driver, of the
// in-tree provider, and the INI format's spelling in a file in the YAML format. None of
// it refuses a file. The keys are those of the structs that the three read with gcfg:
// kubernetes-sigs/vsphere-csi-driver v3.7.0 pkg/common/config/types.go, and of other
// releases (a session manager's, which 3.6 has and 3.7.0 has not, are in
// docs/book/vc_shared_sessions.md, on master since pull request 4031), all of them in
// csiKeys, kubernetes/kubernetes
// staging/src/k8s.io/legacy-cloud-providers/vsphere/vsphere.go, and
// kubernetes/cloud-provider-vsphere v1.36.0 pkg/common/config/types_ini_legacy.go.

type (
	// Spelling is a key that stands for another one, key, and counts as that, in the
	// YAML format with a warning.
	Spelling struct {
		Key  string
		Into Target
	}
	// OlderName is the older name of a list, with a warning if warns is set.
	OlderName struct {
		list  *List
		Name  string
		warns bool
	}
)

// Take reads the value of the key that is meant.
func (s Spelling) Take(from Source) {
	from.Respelled(s.Key)
	s.Into.Take(from)
}

func (s Spelling) misspelled(at problem.Position) { Misspelled(s.Into, at) }

// Take reads the list where its newer name is not written, as the in-tree provider does.
func (o OlderName) Take(from Source) {
	p, t := from.Problems(), from.Text()
	switch {
	case t.Bad:
		return
	case o.list.Set:
		p.Warnf(t.At, "has no effect beside %s", o.Name)
		return
	case o.warns && t.Usable():
		p.Warnf(t.At, "is the in-tree provider's name of %s and counts as that, but the vSphere CPI ignores it: write %s", o.Name, o.Name)
	}
	*o.list = Split(t)
	for i := range o.list.V {
		o.list.V[i].Hidden = t.Hidden
	}
}

// neighborKeys are the keys of the global section, or of an entry, that only a neighbor has.
func (s *Section) neighborKeys(global bool) []Field {
	if !global {
		return slices.Concat(s.csiKeys(false),
			withoutEffect(ForVolumes, "default-datastore"),
			withoutEffect(internalKey, "ipfamilypriority"),
		)
	}
	return slices.Concat(s.csiKeys(true),
		[]Field{{Name: "vcenterip", Into: Spelling{Key: "server", Into: &s.Server}}},
		withoutEffect(inTree, "working-dir", "vm-uuid", "vm-name", "secret-not-managed"),
		withoutEffect(ForVolumes, "datastore", "default-datastore"),
		withoutEffect(forCPI, "service-account"),
	)
}

func withoutEffect(why string, keys ...string) []Field {
	var fields []Field
	for _, key := range keys {
		fields = append(fields, Field{Name: key, Into: Ignored(why)})
	}
	return fields
}

// Stands returns the key of fields that a key stands for: itself, mostly.
func Stands(fields []Field, key string) string {
	for _, f := range fields {
		if f.Name == key {
			if s, ok := f.Into.(Spelling); ok {
				return s.Key
			}
		}
	}
	return key
}

// NewerFirst orders keys so that the older name of one stands behind it: the newer
// counts, wherever the older stands.
func NewerFirst(fields []Field, a, b string) int {
	older := func(key string) int {
		for _, f := range fields {
			if _, ok := f.Into.(OlderName); ok && strings.EqualFold(f.Name, key) {
				return 1
			}
		}
		return 0
	}
	return older(a) - older(b)
}

const (
	forCPI       = "has no effect: it is the vSphere CPI's"
	inTree       = "has no effect: it is the in-tree provider's"
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
)
