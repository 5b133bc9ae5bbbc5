package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/test/cluster"
	"vzones/test/stack"
)

// atATime is how many demos are kept at a time. They mostly wait, so there may be more than
// processors.
const atATime = "3"

// programs returns the folder that the daemon is built into.
var programs = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "vzones-demo-") })

// builtDaemon returns the path of the daemon.
var builtDaemon = sync.OnceValues(func() (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	return stack.Binary(context.Background(), filepath.Join("..", ".."), dir)
})

func TestMain(m *testing.M) {
	if err := cluster.Wanted(); err != nil {
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, the tutorial: %v\n", err)
	}
	if err := flag.Set("test.parallel", atATime); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	status := m.Run()
	if dir, err := programs(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

// daemonBinary returns the path of the daemon. Without a control plane the test is skipped.
func daemonBinary(t *testing.T) string {
	t.Helper()
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	binary, err := builtDaemon()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// kept is a demo that is kept, but for the Pods.
func kept(t *testing.T, binary string) (*demo, *stack.Daemon, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	d := &demo{out: out, began: time.Now(), keep: "1", folder: filepath.Join(t.TempDir(), "files")}
	var err error
	if d.stack, err = stack.Start(t.Context(), stack.Options{Fleet: fleetYAML}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	daemon, err := d.label(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	return d, daemon, out
}

// finish ends a demo, which must leave no session, whatever its commands have changed.
func finish(t *testing.T, w *world, d *demo, daemon *stack.Daemon) {
	t.Helper()
	if err := w.release(); err != nil {
		t.Error(err)
	}
	if err := d.end(daemon); err != nil {
		t.Error(err)
	}
}

// TestDemo: the demo ends without an error, which it does only if each Node has what the description of the
// fleet says and no session is left.
func TestDemo(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t)
	if err := cluster.Wanted(cluster.Scheduler); err != nil {
		t.Skip(err)
	}
	out := new(bytes.Buffer)
	d := &demo{out: out, began: time.Now()}
	if err := d.play(t.Context(), binary); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
}

// TestWhatIsPrintedWorks: the log is where the demo says, the token reads the metrics, the lines for kubectl are right, and a demo
// that ends while a vCenter hangs and another has a new password leaves no session.
func TestWhatIsPrintedWorks(t *testing.T) {
	t.Parallel()
	d, daemon, out := kept(t, daemonBinary(t))
	out.Reset()
	if err := d.explain(t.Context(), daemon); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(find(t, out, `(?m)^The daemon's log is (\S+)\.$`))
	if err != nil || !strings.Contains(string(log), `"Placed Node" node="paris-1-0002"`) {
		t.Errorf("the log does not say where paris-1-0002 is: %v\n%s", err, log)
	}
	exports := strings.Join(regexp.MustCompile(`(?m)^  (export .*)$`).FindAllString(out.String(), -1), "\n")
	_, token, _ := strings.Cut(exports, "export TOKEN=")
	code, text, err := daemon.Get(t.Context(), "/metrics", token)
	if err != nil || code != http.StatusOK || !strings.Contains(text, "\nvsphere_ccm_vcenter_up{") {
		t.Errorf("the metrics with the token: %d, %v\n%.300s", code, err, text)
	}
	if code, _, err := daemon.Get(t.Context(), "/metrics", ""); err != nil || code == http.StatusOK {
		t.Errorf("the metrics without a token: %d, %v", code, err)
	}
	lines := []string{find(t, out, `(?m)^  (kubectl .*)$`)}
	enter(t, exports, []string{find(t, out, `(?m)^  (vzones .*)$`)}) // while all vCenters answer
	if _, err := exec.LookPath("curl"); err == nil {
		lines = append(lines, find(t, out, `(?m)^  (curl .*)$`)+" | grep ^vsphere_ccm_vcenter_up")
	}
	w := &world{out: out, stack: d.stack, daemon: true}
	for _, line := range []string{
		"vmotion paris-1-0000 d1-host-1", "retag paris /dc-1 k8s-zone paris-3", "clone paris-1-0001 milan",
		"destroy milan-2-0003", "join milan", "password milan", "secret", "password milan", "recover porto", "hang porto",
	} {
		out.Reset()
		if err := w.obey(t.Context(), line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, find(t, out, `(?m)^  Look: status, or (kubectl .*)$`))
	}
	enter(t, exports, lines)
	finish(t, w, d, daemon)
}

// find returns what a pattern finds.
func find(t *testing.T, in *bytes.Buffer, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(in.String())
	if found == nil {
		t.Fatalf("%s is not in\n%s", pattern, in)
	}
	return found[1]
}

// enter enters lines in a shell, each of which has to succeed.
func enter(t *testing.T, exports string, lines []string) {
	t.Helper()
	tools, err := filepath.Abs(filepath.Join("..", "..", "bin", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "vzones/cmd/vzones").CombinedOutput(); err != nil {
		t.Fatalf("building vzones: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil {
		t.Logf("without kubectl, which make helm builds, no line is entered: %v", err)
		return
	}
	for _, line := range lines {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", exports+"\n"+line)
		cmd.Env = append(os.Environ(), "PATH="+strings.Join([]string{dir, tools, os.Getenv("PATH")}, string(os.PathListSeparator)))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, said)
		}
	}
}
