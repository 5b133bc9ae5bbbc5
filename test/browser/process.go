package browser

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// ending bounds the wait for a browser's own processes, which end in a fraction of a second.
const ending = 10 * time.Second

// command returns the command of a browser, in a process group of its own, which end ends. Its profile is in
// a folder that has to be empty. It ends by its pipes too, so that it does not outlive the test if that is killed.
func command(ctx context.Context, program, profile string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// end ends a browser and waits for its own processes too, which write to the profile.
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
