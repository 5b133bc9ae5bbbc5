package config

import (
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
	// whole and yes say that gcfg, with which the driver reads its file, wants a whole
	// number or a truth value.
	whole, yes bool
	// most is how many bytes the driver takes, if not any number.
	most int
	// words are what the driver takes alone, besides nothing.
	words []string
}

// The keys of the driver's file beside those of the schema.
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
		{name: sessionManagerURL},
		{name: sessionManagerToken},
	}
	csiVCenterKeys = []csiKey{
		{name: "targetvSANFileShareDatastoreURLs"},
		{name: "targetvSANFileShareClusters"},
		{name: "migration-datastore-url"},
		{name: "filevolumeactivated", yes: true},
		{name: sessionManagerURL},
		{name: sessionManagerToken},
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

// The driver takes no account where a vCenter has the address of a session manager.
const (
	sessionManagerURL   = "vc-session-manager-url"
	sessionManagerToken = "vc-session-manager-token"
)

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

// csiOwn is what a file in the INI format holds for the driver alone: it is the
// driver's own file, or has been, and keeps that when it becomes one again.
type csiOwn struct {
	global   []csiValue
	vcenters map[string][]csiValue
	sections []csiSection
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

// readCSIOwn reads a file that was read without a mistake.
func readCSIOwn(data []byte) *csiOwn {
	own := &csiOwn{vcenters: make(map[string][]csiValue)}
	for _, b := range blocks([]byte(strings.TrimPrefix(string(data), string(byteOrderMark))), &problems{words: &iniWords}) {
		switch strings.ToLower(b.section) {
		case "global":
			own.global = append(own.global, csiValues(b, csiGlobalKeys)...)
		case "virtualcenter":
			own.vcenters[b.name] = append(own.vcenters[b.name], csiValues(b, csiVCenterKeys)...)
		case "netpermissions":
			own.sections = append(own.sections, csiSection{"NetPermissions", b.name, b.at, csiValues(b, csiNetPermissionKeys)})
		case "snapshot":
			own.sections = append(own.sections, csiSection{"Snapshot", "", b.at, csiValues(b, csiSnapshotKeys)})
		}
	}
	return own
}

// csiValues returns the keys of a section that are known and have a value. A key
// without an = is true to gcfg.
func csiValues(b *block, keys []csiKey) []csiValue {
	var values []csiValue
	for _, k := range b.keys {
		for i := range keys {
			switch {
			case !strings.EqualFold(keys[i].name, k.name):
			case k.blank:
				values = append(values, csiValue{&keys[i], "true", k.at})
			case k.value != "":
				values = append(values, csiValue{&keys[i], k.value, k.at})
			}
		}
	}
	return values
}

// hasSessionManager reports whether the driver logs in with a session manager's session.
func hasSessionManager(values []csiValue) bool {
	for _, v := range values {
		if v.name == sessionManagerURL {
			return true
		}
	}
	return false
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
