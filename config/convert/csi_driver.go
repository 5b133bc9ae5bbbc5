package convert

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/gcfg.v1/types"

	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/parse/ini"
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
	case check.IsPEM(user):
		return "is a certificate, which the CSI driver refuses: give it an account with a name and a password, " + such
	case strings.ContainsFunc(user, unicode.IsSpace):
		return "has a blank, which the CSI driver refuses: give it an account " + such
	case !strings.ContainsAny(user, `@\`):
		return "has no domain, without which the CSI driver refuses it: write one, as in user@vsphere.local"
	}
	return "has a character that the CSI driver refuses, or a second @: give it an account " + such
}

// refusedValue returns why the driver refuses a value, and what to write. It shows none.
func refusedValue(k *schema.CSIKey, value string) string {
	switch {
	case k.Most > 0 && len(value) > k.Most:
		return "is longer than the 64 bytes that the CSI driver takes: write a shorter one"
	case k.Whole:
		if types.ParseInt(new(int), value, types.Dec) != nil {
			return "is not a whole number, which the CSI driver wants here: write decimal digits"
		}
	case k.Yes:
		if _, err := types.ParseBool(value); err != nil {
			return "is neither true nor false, which the CSI driver wants here: write one of the two"
		}
	case len(k.Words) > 0 && value != "":
		for _, word := range k.Words {
			if value == word {
				return ""
			}
		}
		return "is not what the CSI driver takes: write " + strings.Join(k.Words, ", ") + " or nothing"
	}
	return ""
}

type csiSection struct {
	section, name string
	at            problem.Position
	values        []schema.CSIValue
}

// csiSections returns the sections of a file in the INI format, which was read without a
// mistake, that the driver has beside those of the schema. It keeps them when it becomes
// the driver's own again.
func csiSections(data []byte) []csiSection {
	var all []csiSection
	for _, b := range ini.Blocks(bytes.TrimPrefix(data, ini.ByteOrderMark), &problem.List{Words: &problem.INIWords}) {
		switch strings.ToLower(b.Section) {
		case "netpermissions":
			all = append(all, csiSection{"NetPermissions", b.Name, b.At, csiValues(b, schema.CSINetPermissionKeys)})
		case "snapshot":
			all = append(all, csiSection{"Snapshot", "", b.At, csiValues(b, schema.CSISnapshotKeys)})
		}
	}
	return all
}

// csiValues returns the keys of a section that are known and have a value.
func csiValues(b *ini.Block, keys []schema.CSIKey) []schema.CSIValue {
	var values []schema.CSIValue
	for _, k := range b.Keys {
		for i := range keys {
			if value, ok := k.Single(keys[i].Yes); ok && strings.EqualFold(keys[i].Name, k.Name) {
				values = append(values, schema.CSIValue{CSIKey: &keys[i], Value: value, At: k.Place()})
			}
		}
	}
	return values
}

// oldCSILabel is the label that the driver gives Nodes for a category under region or
// zone of [Labels]: that of its section, else the beta one.
func oldCSILabel(s *schema.File, label, category string) string {
	for _, given := range s.CategoryLabels {
		if given.Name == category {
			return given.Label.V
		}
	}
	_, key, _ := strings.Cut(label, "/")
	return "failure-domain.beta.kubernetes.io/" + key
}

// maxCSIVCenters is how many vCenters the CSI driver takes: its pkg/common/config/config.go,
// in validateConfig.
const maxCSIVCenters = 5
