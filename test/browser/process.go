package browser

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// ending bounds the wait for the child processes of a browser, which exit in a fraction of a second.
const ending = 10 * time.Second

// command returns the command that starts a browser in a process group of its own; end kills the group. The
// profile is in a folder that has to be empty. The browser also exits when its pipes close, so that it does
// not outlive a test that was killed.
func command(ctx context.Context, program, profile string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// end kills a browser and waits until its child processes, which write to the profile too, have exited.
func end(cmd *exec.Cmd) {
	group := -cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGKILL)
	_ = cmd.Wait()
	late, again := time.After(ending), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for syscall.Kill(group, 0) == nil {
		select {
		case <-again.C:
		case <-late:
			return
		}
	}
}
