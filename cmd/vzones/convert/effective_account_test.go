package convert

import (
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
	"vzones/config/load"
)

// TestIdleAccountInTheEnvironment: the file's account is idle whatever the environment
// names beside the file's Secret.
func TestIdleAccountInTheEnvironment(t *testing.T) {
	const file = "global: {secretName: s, secretNamespace: n, user: gu, password: gp}\nvcenter: {a: {server: a.b.c}}\n"
	for variable, why := range map[string]string{
		"VSPHERE_NOTHING=/d":           "has no effect: every vCenter has a Secret",
		"VSPHERE_SECRETS_DIRECTORY=/d": "has no effect: every vCenter has a Secret or the environment variable VSPHERE_SECRETS_DIRECTORY",
	} {
		cfg, err := load.Parse("f", []byte(file), variable)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := configtest.WarningsOf(cfg), []string{"f:1: global.user: " + why, "f:1: global.password: " + why}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
		if shown, err := Effective("f", []byte(file), variable); err != nil || strings.Contains(string(shown.Data), "user: gu") {
			t.Errorf("%s: %v\n%s", variable, err, shown.Data)
		}
	}
}
