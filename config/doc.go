// Package config owns the configuration: one schema, read strictly, with every
// default filled in and every mistake reported at its line.
//
// A file goes through three steps that know nothing of each other. A format's
// reader (yaml.go, decode.go) turns text into the schema (schema.go), in which
// each field remembers where it was written. Validation (validate.go,
// fleet.go) turns the schema into a Config, whatever format it came from.
//
// The YAML format is that of the vSphere CPI (kubernetes/cloud-provider-vsphere).
// What loads there loads here and means the same, with these exceptions, each
// of which hid mistakes: unknown and repeated keys, further documents and
// values that can never work are errors; `insecureFlag: false` in an entry
// overrides a global true; a region without a zone, or the reverse, counts;
// sections for NSX-T are refused, because vzones does nothing with them.
//
// The package never prints a secret, never connects to anything and never
// writes. It reads the configuration file and the CA files that it names.
package config
