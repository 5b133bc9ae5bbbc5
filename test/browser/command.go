package browser

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// ending bounds the wait for a browser's own processes, which end in a fraction of a second.
const ending = 10 * time.Second

// Command returns a command of a headless browser, with its profile in a folder that has to be empty. If it
// has not ended when it is no longer needed, End ends it.
func Command(ctx context.Context, program, profile string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--user-data-dir=" + profile}, arguments...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// End ends a browser and waits for its own processes, which write to the profile, too.
func End(cmd *exec.Cmd) {
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
