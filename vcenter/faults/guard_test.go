package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

// TestPanicsAreErrors: with where they were and what they are of.
func TestPanicsAreErrors(t *testing.T) {
	g := &faults.Guard{}
	err := g.Run(t.Context(), "here", func() error { var s *types.UpdateSet; _ = s.Version; return nil })
	if !faults.Recovered(err) || !strings.HasPrefix(err.Error(), "here: panic: runtime error: ") {
		t.Errorf("error %v", err)
	}
	want := errors.New("cause")
	if err := g.Run(t.Context(), "here", func() error { panic(want) }); !errors.Is(err, want) {
		t.Errorf("error %v", err)
	}
	if err := g.Run(t.Context(), "here", func() error { return want }); !errors.Is(err, want) || faults.Recovered(err) {
		t.Errorf("error %v", err)
	}
}
