// Package fleettest starts simulated fleets for tests and writes their configurations.
package fleettest

import (
	"os"
	"path/filepath"
	"testing"

	"vzones/test/fleet"
)

// Start starts the vCenters of a description and stops them when the test ends.
func Start(t testing.TB, description string) *fleet.Fleet {
	t.Helper()
	spec, err := fleet.Parse([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// WriteConfig writes the configuration of a fleet and its CA files to a folder and returns the path
// of the configuration, vsphere.yaml.
func WriteConfig(t testing.TB, f *fleet.Fleet, dir string) string {
	t.Helper()
	text, err := fleet.ConfigYAML(f, fleet.ConfigOptions{CADir: dir})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "vsphere.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
