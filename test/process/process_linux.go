package process

import (
	"os"
	"syscall"
)

// childAttributes ties a child's life to ours, SIGKILL included. Its own
// process group keeps a Ctrl-C in the terminal from it: the control plane has
// to outlive the orderly end of whoever uses it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// containedAttributes gives a child another root. Who is not root may do that in a user
// namespace, where the system allows these.
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
