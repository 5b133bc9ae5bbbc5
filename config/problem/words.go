package problem

import (
	"strings"
	"unicode"
)

// Words are how messages name what a format has.
type Words struct {
	// Global is where the settings of all vCenters stand, entry one vCenter's,
	// and vcenters the path of all of those.
	Global, Entry, VCenters string
	// Several says how to write more than one value.
	Several string
	// NoBreak says how to write a text without a line break at its end.
	NoBreak string
	// InlineCA says where certificates themselves can stand, with an or behind it.
	InlineCA string
	// Lines says how to write a text of several lines.
	Lines string
	// Trust names the keys for a certificate that no public authority has signed.
	Trust string
	// Unverified says who takes a global insecureFlag for each vCenter's.
	Unverified string
	// assign stands between a key and its value.
	assign string
	// Key names a key as the format does, from its name in YAML.
	Key func(string) string
	// Categories says where tag categories are named.
	Categories string
}

// YAMLWords are those of the YAML format.
var YAMLWords = Words{
	Global:     "under global",
	Entry:      "entry under vcenter",
	VCenters:   "vcenter",
	Several:    "each as an element of its own",
	NoBreak:    "after | write |-, or write it on one line in quotes",
	InlineCA:   "it under caData, or ",
	Lines:      "each line of it on a line of its own",
	Trust:      "caData, caFile or thumbprint",
	Unverified: "to the vSphere CPI that holds for every vCenter, and it does not verify it: ",
	assign:     ": ",
	Key:        func(name string) string { return name },
	Categories: "labels.region and labels.zone, each with a tag category",
}

// INIWords are those of the INI format.
var INIWords = Words{
	Global:     "in [Global]",
	Entry:      `section such as [VirtualCenter "vc.example.com"]`,
	Several:    "with a comma between the two",
	NoBreak:    `remove the \n`,
	Lines:      `in quotes and with \n for each line break`,
	Trust:      "ca-file or thumbprint",
	Unverified: "to the vSphere CPI and the CSI driver that holds for every vCenter, and they do not verify it: ",
	assign:     " = ",
	Key:        Dash,
	Categories: "topology-categories in [Labels]",
}

// Secret names the keys for a Secret.
func (w *Words) Secret() string { return w.Key("secretName") + " and " + w.Key("secretNamespace") }

// Example writes the keys of an example as the format does.
func (w *Words) Example(detail string) string {
	if strings.HasPrefix(detail, ", here server: ") {
		return strings.NewReplacer("server: ", "server"+w.assign, "port: ", "port"+w.assign).Replace(detail)
	}
	return detail
}

// Dash names a key of the YAML format as the INI format does: insecureFlag is insecure-flag.
func Dash(key string) string {
	var b strings.Builder
	for _, c := range key {
		if unicode.IsUpper(c) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
