package process

import (
	"os"
	"syscall"
)

// childAttributes kills the child when this process dies, even by SIGKILL. A separate process group keeps Ctrl-C
// in the terminal from the child: the control plane must outlive the shutdown of its users.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// containedAttributes changes the child's root. Without root privileges this requires a user namespace.
func containedAttributes(root string) (*syscall.SysProcAttr, error) {
	attributes := childAttributes()
	attributes.Chroot = root
	if os.Geteuid() != 0 {
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attributes, nil
}
