package check

import (
	"fmt"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/world"
)

// options are what the flags of the command say.
type options struct {
	world  world.Flags
	format cli.Format
	failOn severity
}

// severity is the value of --fail-on.
type severity finding.Severity

func (s *severity) String() string { return string(*s) }
func (s *severity) Type() string   { return "SEVERITY" }

func (s *severity) Set(text string) error {
	if !slices.Contains([]finding.Severity{finding.Error, finding.Warning}, finding.Severity(text)) {
		return fmt.Errorf("write %s or %s", finding.Error, finding.Warning)
	}
	*s = severity(text)
	return nil
}
