//go:build !unix

package main

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) {
	return false, errors.New("the control plane is built on Unix systems only")
}
