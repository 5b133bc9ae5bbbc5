// Package fleettest starts simulated fleets for tests.
package fleettest

import (
	"testing"

	"vzones/test/fleet"
)

// Start starts the vCenters of a description, and stops them when the test ends.
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
