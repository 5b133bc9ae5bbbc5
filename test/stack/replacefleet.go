package stack

import (
	"context"

	"vzones/test/fleet"
)

// ReplaceFleet closes the fleet and starts another under the same control
// plane, with its credentials in the Secret. No daemon may be running: one that
// runs keeps the old fleet's addresses. The description is that of Options.
func (s *Stack) ReplaceFleet(ctx context.Context, description string) error {
	spec, err := parseFleet(description)
	if err != nil {
		return err
	}
	s.Fleet.Close()
	f, err := fleet.Start(ctx, spec)
	if err != nil {
		return err
	}
	s.Fleet = f
	return s.WriteSecret(ctx)
}
