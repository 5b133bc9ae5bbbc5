package role

import (
	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

// options are the flags.
type options struct {
	world  *world.Flags
	format cli.Format

	name, principal string
	group           bool
}
