//go:build !linux

package process

import (
	"errors"
	"syscall"
)

// childAttributes leaves a child in our process group: where the kernel does
// not kill it with us, at least a Ctrl-C in the terminal ends both.
func childAttributes() *syscall.SysProcAttr { return nil }

func containedAttributes(string) (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }
