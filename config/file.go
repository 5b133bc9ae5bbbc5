package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxSize is the size limit of a configuration in bytes, the same as a ConfigMap's.
const MaxSize = 1 << 20

// The errors of ReadFile for a file that it does not read.
var (
	ErrNotRegular = errors.New("is not a regular file")
	ErrTooLarge   = errors.New("is too large")
)

// ReadFile reads a regular file of at most MaxSize bytes. It rejects pipes and devices, which may
// block or never end.
func ReadFile(path string) ([]byte, error) { return ReadFileAtMost(path, MaxSize) }

// ReadFileAtMost is ReadFile with a different limit.
func ReadFileAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = readable(path, info, limit)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limit)}
	}
	return data, err
}

func readable(path string, info fs.FileInfo, limit int64) error {
	err := ErrNotRegular
	mode := info.Mode()
	switch {
	case mode.IsRegular() && info.Size() <= limit:
		return nil
	case mode.IsRegular():
		err = fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrTooLarge, info.Size(), limit)
	case mode.IsDir():
		err = fmt.Errorf("%w, but a directory: write the path of a file in it", ErrNotRegular)
	case mode&fs.ModeNamedPipe != 0:
		err = fmt.Errorf("%w, but a named pipe", ErrNotRegular)
	case mode&fs.ModeDevice != 0:
		err = fmt.Errorf("%w, but a device", ErrNotRegular)
	}
	return &fs.PathError{Op: "read", Path: path, Err: err}
}
