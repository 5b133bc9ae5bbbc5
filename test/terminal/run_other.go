//go:build !linux

package terminal

import (
	"errors"
	"os/exec"
)

// Run needs Linux.
func Run(*exec.Cmd, int) ([]byte, error) {
	return nil, errors.New("pictures of a terminal are made on Linux")
}
