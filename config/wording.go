package config

import "strings"

// wording is how messages name what a format has.
type wording struct {
	secretName, secretNamespace, directory, insecure string
	// global is where the settings of all vCenters stand, entry one vCenter's,
	// and vcenters the path of all of those.
	global, entry, vcenters string
	// several says how to write more than one value.
	several string
	// noBreak says how to write a text without a line break at its end.
	noBreak string
	// inlineCA says where certificates themselves can stand, with an or behind it.
	inlineCA string
	// lines says how to write a text of several lines.
	lines string
	// trust names the keys for a certificate that no public authority has signed.
	trust string
	// unverified says who takes a global insecureFlag for each vCenter's.
	unverified string
	// assign stands between a key and its value.
	assign string
	// key names a key as the format does, from its name in YAML.
	key func(string) string
	// categories says where tag categories are named.
	categories string
}

var yamlWords = wording{
	secretName:      "secretName",
	secretNamespace: "secretNamespace",
	directory:       "secretsDirectory",
	insecure:        "insecureFlag",
	global:          "under global",
	entry:           "entry under vcenter",
	vcenters:        "vcenter",
	several:         "each as an element of its own",
	noBreak:         "after | write |-, or write it on one line in quotes",
	inlineCA:        "it under caData, or ",
	lines:           "each line of it on a line of its own",
	trust:           "caData, caFile or thumbprint",
	unverified:      "to the vSphere CPI that holds for every vCenter, and it does not verify it: ",
	assign:          ": ",
	key:             func(name string) string { return name },
	categories:      "labels.region and labels.zone, each with a tag category",
}

var iniWords = wording{
	secretName:      "secret-name",
	secretNamespace: "secret-namespace",
	directory:       "secrets-directory",
	insecure:        "insecure-flag",
	global:          "in [Global]",
	entry:           `section such as [VirtualCenter "vc.example.com"]`,
	several:         "with a comma between the two",
	noBreak:         `remove the \n`,
	lines:           `in quotes and with \n for each line break`,
	trust:           "ca-file or thumbprint",
	unverified:      "to the vSphere CPI and the CSI driver that holds for every vCenter, and they do not verify it: ",
	assign:          " = ",
	key:             dash,
	categories:      "topology-categories in [Labels]",
}

func (w *wording) secret() string { return w.secretName + " and " + w.secretNamespace }

// dashed says that a key of the YAML format is written at a place as the INI format
// spells it, which the CPI ignores there.
func (p *problems) dashed(at position, key string) bool {
	return p.words == &yamlWords && at.line != inEnvironment && strings.HasSuffix(at.path, "."+dash(key))
}

// example writes the keys of an example as the format does.
func (w *wording) example(detail string) string {
	if strings.HasPrefix(detail, ", here server: ") {
		return strings.NewReplacer("server: ", "server"+w.assign, "port: ", "port"+w.assign).Replace(detail)
	}
	return detail
}
