package stack

import (
	"context"
	"fmt"

	"vzones/test/fleet"
)

// ReplaceFleet closes the fleet and starts another under the same control
// plane, with its credentials in the Secret. No daemon may be running: one that
// runs keeps the old fleet's addresses. The description is that of Options.
func (s *Stack) ReplaceFleet(ctx context.Context, description string) error {
	spec, err := fleet.Parse([]byte(description))
	if err != nil {
		return err
	}
	// As in start: credentials are by address.
	for i := range spec.VCenters {
		if spec.VCenters[i].Address == "127.0.0.1" {
			spec.VCenters[i].Address = fmt.Sprintf("127.0.0.%d", 2+i)
		}
	}
	s.Fleet.Close()
	f, err := fleet.Start(ctx, spec)
	if err != nil {
		return err
	}
	s.Fleet = f
	return s.WriteSecret(ctx)
}
