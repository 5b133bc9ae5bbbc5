//go:build !linux

package process

import (
	"errors"
	"syscall"
)

// childAttributes keeps the child in this process group. The kernel does not kill it with this process, but Ctrl-C
// in the terminal ends both.
func childAttributes() *syscall.SysProcAttr { return nil }

func containedAttributes(string) (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }
