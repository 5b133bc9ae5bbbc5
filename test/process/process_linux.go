package process

import "syscall"

// childAttributes ties a child's life to ours, SIGKILL included. Its own
// process group keeps a Ctrl-C in the terminal from it: the control plane has
// to outlive the orderly end of whoever uses it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
