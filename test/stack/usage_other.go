//go:build !linux

package stack

import (
	"errors"
	"time"
)

func usageOf(int) (Usage, error) { return Usage{}, errors.ErrUnsupported }

func childrenCPU() (time.Duration, error) { return 0, errors.ErrUnsupported }
