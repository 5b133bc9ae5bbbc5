// Package terminal runs a command in a terminal, for tests of what the operator's tool shows a person.
package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run runs a command in a terminal of a width and returns what it has written there. The error is
// that of the command, such as an *exec.ExitError.
func Run(cmd *exec.Cmd, columns int) ([]byte, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("making a terminal: %w", err)
	}
	defer master.Close()
	end, err := other(master, columns)
	if err != nil {
		return nil, fmt.Errorf("making a terminal: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = end.Close()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, failed := io.Copy(&out, master)
	if errors.Is(failed, unix.EIO) {
		failed = nil // nobody has the other end any more
	}
	if err := cmd.Wait(); err != nil {
		return out.Bytes(), err
	}
	return out.Bytes(), failed
}

// other opens the end of a terminal that a command gets.
func other(master *os.File, columns int) (*os.File, error) {
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	size := unix.Winsize{Row: 50, Col: uint16(columns)}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size); err != nil {
		return nil, err
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
}
