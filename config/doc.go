// Package config owns the configuration: one schema, read strictly, with every
// default filled in and every mistake reported at its line.
//
// A file goes through three steps that know nothing of each other. A format's
// reader turns text into the schema (schema.go), in which each field remembers
// where it was written: yaml.go and decode.go read YAML, ini_scan.go, ini.go and
// ini_fields.go INI. Environment variables override what is there
// (environment.go). Validation (validate.go, fleet.go, csi.go) turns the schema
// into a Config, wherever its fields came from.
//
// The YAML format is that of the vSphere CPI (kubernetes/cloud-provider-vsphere),
// the INI format that of the CPI before, of the provider in Kubernetes itself
// before that, and of the vSphere CSI driver. What loads there loads here and
// means the same, but for what "What the CPI reads otherwise" lists in
// docs/reference/configuration.md.
//
// What was read can be written in another form: as what is in force, with sources
// (effective.go), and converted to YAML and a Secret or to the CSI driver's file
// (the files that begin with write). The YAML writer goes by the fields that the
// decoder goes by.
//
// The package never prints a secret, never connects to anything and never
// writes a file. It reads the configuration file and the CA files that it names, but not
// the directory with credentials. Reading keeps no state: it may be done again at
// each change of one of those files.
package config
