package stack

// Kill ends the daemon without the time to log out, as the kernel or a node's
// failure does.
func (d *Daemon) Kill() error { return d.kill() }
