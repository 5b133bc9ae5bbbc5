package config

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/gcfg.v1/types"
)

// What the CSI driver takes is in its pkg/common/config/config.go, in validateConfig.
const (
	// maxCSIVCenters is how many vCenters it takes.
	maxCSIVCenters = 5
	// maxCSIName is how many bytes cluster-id and supervisor-id may have.
	maxCSIName = 64
)

// csiUser is a user name as the driver takes it since 3.2: user@domain or domain\user.
var csiUser = regexp.MustCompile(`^([A-Za-z0-9._-]+@[A-Za-z0-9.-]+|[A-Za-z0-9.-]+\\[A-Za-z0-9._-]+)$`)

// refusedByCSI says why the driver refuses a user name, and what to do. It is empty
// for one that the driver takes, and never shows the name.
func refusedByCSI(user string) string {
	const such = "such as user@vsphere.local, of letters, digits, ., _ and -"
	switch {
	case csiUser.MatchString(user):
		return ""
	case isPEM(user):
		return "is a certificate, which the CSI driver refuses: give it an account with a name and a password, " + such
	case strings.ContainsFunc(user, unicode.IsSpace):
		return "has a blank, which the CSI driver refuses: give it an account " + such
	case !strings.ContainsAny(user, `@\`):
		return "has no domain, without which the CSI driver refuses it: write one, as in user@vsphere.local"
	}
	return "has a character that the CSI driver refuses, or a second @: give it an account " + such
}

// csiKey is a key of the driver's file that vzones has no use for.
type csiKey struct {
	name string
	// why says why it has no effect here, if not because it is the driver's.
	why string
	// whole and yes say that gcfg, with which the driver reads its file, wants a whole
	// number or a truth value.
	whole, yes bool
	// most is how many bytes the driver takes, if not any number.
	most int
	// words are what the driver takes alone, besides nothing.
	words []string
	// beside is what to say of one that is carried over and does not count everywhere.
	beside string
}

// The keys of the driver's file beside those of the schema, of several of its releases: see
// foreign.
var (
	csiGlobalKeys = []csiKey{
		{name: "cluster-id", most: maxCSIName},
		{name: "supervisor-id", most: maxCSIName},
		{name: "cluster-distribution"},
		{name: "cnsregistervolumes-cleanup-intervalinmin", whole: true},
		{name: "cnspvcprotection-cleanup-intervalinmin", whole: true},
		{name: "cnsvolumeoperationrequest-cleanup-intervalinmin", whole: true},
		{name: "volumemigration-cr-cleanup-intervalinmin", whole: true},
		{name: "vc-client-timeout", whole: true},
		{name: "csi-auth-check-intervalinmin", whole: true},
		{name: "csi-fetch-preferred-datastores-intervalinmin", whole: true},
		{name: "query-limit", whole: true},
		{name: "list-volume-threshold", whole: true},
		{name: sessionURL, why: noSession + sessionURL + " behind it", beside: someReleases},
		{name: sessionToken, why: noSession + sessionToken + " behind it"},
	}
	csiVCenterKeys = []csiKey{
		{name: "targetvSANFileShareDatastoreURLs", why: forVolumes},
		{name: "targetvSANFileShareClusters", why: forVolumes},
		{name: "migration-datastore-url", why: forVolumes},
		{name: "filevolumeactivated", yes: true},
		{name: sessionURL, why: noSession + sessionURL + " behind it", beside: someReleases},
		{name: sessionToken, why: noSession + sessionToken + " behind it"},
	}
	csiNetPermissionKeys = []csiKey{
		{name: "ips"},
		{name: "permissions", words: []string{"READ_WRITE", "READ_ONLY", "NO_ACCESS"}},
		{name: "rootsquash", yes: true},
	}
	csiSnapshotKeys = []csiKey{
		{name: "global-max-snapshots-per-block-volume", whole: true},
		{name: "granular-max-snapshots-per-block-volume-vsan", whole: true},
		{name: "granular-max-snapshots-per-block-volume-vvol", whole: true},
	}
)

// The keys of a session manager. What the token is is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

const someReleases = "is written, but not every release of the CSI driver reads it: 3.6 does, and 3.7 does not and logs in with the user and the password"

// refused says why the driver refuses a value, and what to write. It shows none.
func (k *csiKey) refused(value string) string {
	switch {
	case k.most > 0 && len(value) > k.most:
		return "is longer than the 64 bytes that the CSI driver takes: write a shorter one"
	case k.whole:
		if types.ParseInt(new(int), value, types.Dec) != nil {
			return "is not a whole number, which the CSI driver wants here: write decimal digits"
		}
	case k.yes:
		if _, err := types.ParseBool(value); err != nil {
			return "is neither true nor false, which the CSI driver wants here: write one of the two"
		}
	case len(k.words) > 0 && value != "":
		for _, word := range k.words {
			if value == word {
				return ""
			}
		}
		return "is not what the CSI driver takes: write " + strings.Join(k.words, ", ") + " or nothing"
	}
	return ""
}

// ofCSI is a key of the driver's file, which has no effect here. Own gets what it is set to.
type ofCSI struct {
	*csiKey
	own *[]csiValue
	// session becomes where it is, if it is a session manager's.
	session *position
}

// csiValue is a key with its value.
type csiValue struct {
	*csiKey
	value string
	at    position
}

type csiSection struct {
	section, name string
	at            position
	values        []csiValue
}

// ofCSI are the keys of the driver's file in the section.
func (s *section) ofCSI(keys []csiKey) []field {
	var fields []field
	for i := range keys {
		k := ofCSI{csiKey: &keys[i], own: &s.own}
		if k.name == sessionURL || k.name == sessionToken {
			k.session = &s.session
		}
		fields = append(fields, field{k.name, k})
	}
	return fields
}

// csi tells of a key that has no effect here.
func (p *problems) csi(at position, k ofCSI) {
	if k.session != nil {
		*k.session = at
	}
	why := k.why
	if why == "" {
		why = forDriver
	}
	p.warnf(at, "%s", why)
}

// csiSections returns the sections of a file in the INI format, which was read without a
// mistake, that the driver has beside those of the schema. It keeps them when it becomes
// the driver's own again.
func csiSections(data []byte) []csiSection {
	var all []csiSection
	for _, b := range blocks(bytes.TrimPrefix(data, byteOrderMark), &problems{words: &iniWords}) {
		switch strings.ToLower(b.section) {
		case "netpermissions":
			all = append(all, csiSection{"NetPermissions", b.name, b.at, csiValues(b, csiNetPermissionKeys)})
		case "snapshot":
			all = append(all, csiSection{"Snapshot", "", b.at, csiValues(b, csiSnapshotKeys)})
		}
	}
	return all
}

// csiValues returns the keys of a section that are known and have a value.
func csiValues(b *block, keys []csiKey) []csiValue {
	var values []csiValue
	for _, k := range b.keys {
		for i := range keys {
			if strings.EqualFold(keys[i].name, k.name) {
				values = keys[i].of(k, values)
			}
		}
	}
	return values
}

// of appends what a key is set to. One without an = is true to gcfg.
func (k *csiKey) of(given iniKey, values []csiValue) []csiValue {
	switch {
	case given.blank && k.yes:
		return append(values, csiValue{k, "true", given.at})
	case given.value != "":
		return append(values, csiValue{k, given.value, given.at})
	}
	return values
}

// oldCSILabel is the label that the driver gives Nodes for a category under region or
// zone of [Labels]: that of its section, else the beta one.
func oldCSILabel(s *schema, label, category string) string {
	for _, given := range s.categoryLabels {
		if given.name == category {
			return given.label.v
		}
	}
	_, key, _ := strings.Cut(label, "/")
	return "failure-domain.beta.kubernetes.io/" + key
}
