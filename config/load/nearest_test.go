package load

import (
	"strings"
	"testing"

	"vzones/config"
	"vzones/topology/suggest"
)

func TestNearest(t *testing.T) {
	var known []string
	for _, f := range config.FieldsOf(config.SectionGlobal) {
		known = append(known, f.Key)
	}
	for unknown, want := range map[string]string{
		"prot":                  "port",
		"Port":                  "port",
		"sever":                 "server",
		"pasword":               "password",
		"username":              "user",
		"insecure":              "insecureFlag",
		"insecure-flag":         "insecureFlag",
		"secret_name":           "secretName",
		"soapRoundTripCount":    "soapRoundtripCount",
		"datacenter":            "datacenters",
		"ca-file":               "caFile",
		"thumbPrint":            "thumbprint",
		"ip-family":             "ipFamily",
		"folder":                "",
		"x":                     "",
		"":                      "",
		strings.Repeat("p", 99): "",
	} {
		if got := suggest.Nearest(unknown, known); got != want {
			t.Errorf("%q: got %q, want %q", unknown, got, want)
		}
	}
	for _, key := range known {
		if got := suggest.Nearest(key, known); got != key {
			t.Errorf("%q: got %q", key, got)
		}
	}
}
