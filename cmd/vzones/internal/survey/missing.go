package survey

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/faults"
)

var errNotReported = errors.New("the vCenter does not report it")

// missing returns why a property of an object cannot be read, nil if it can.
func missing(o *types.ObjectContent, path string) error {
	for i := range o.MissingSet {
		if m := &o.MissingSet[i]; m.Path == path {
			if _, denied := m.Fault.Fault.(*types.NoPermission); denied {
				return topology.ErrNotPermitted
			}
			if m.Fault.LocalizedMessage == "" {
				return fmt.Errorf("the vCenter answers %T", m.Fault.Fault)
			}
			return faults.Printable{Err: faults.AsError(&m.Fault)}
		}
	}
	return nil
}
