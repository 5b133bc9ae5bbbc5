package alerts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vzones/test/scenarios"
	"vzones/test/stack"
)

const (
	// whole says that what needs Prometheus is to run too, as make alerts does.
	whole = "VZONES_ALERTS"
	// toolsVariable names a folder with promtool and prometheus, instead of bin/tools.
	toolsVariable = "VZONES_PROMETHEUS"
)

// missing says why no alert can be played.
var missing error

// pool has the stacks that alerts are played on.
var pool = stack.NewPool(root, poolSize)

const poolSize = 3

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(whole) == "" {
		missing = errors.New("make alerts plays them")
		// go test keeps what a passing package prints to itself, but puts
		// [no tests to run] behind its name for this line.
		fmt.Printf("testing: warning: no tests to run\nleft out, every alert with a real Prometheus: %v\n", missing)
	}
	if err := flag.Set("test.parallel", strconv.Itoa(poolSize)); err != nil {
		fmt.Println(err)
		return 1
	}
	status := m.Run()
	if err := pool.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return status
}

// tool returns the path of promtool or prometheus.
func tool(name string) string {
	dir := os.Getenv(toolsVariable)
	if dir == "" {
		dir = filepath.Join(root, "bin", "tools")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return name
	}
	return path
}

// play plays a file with a Prometheus beside it, and returns that and when the last step
// was done.
func play(t *testing.T, file string) (*prometheus, time.Time) {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
	s, err := scenarios.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	on, binary, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Release(on) })
	p := startPrometheus(t, on, hurried(t))
	s.Monitor = p
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	var last time.Time
	if err := s.Play(ctx, on, binary, func(line string) {
		last = time.Now()
		fmt.Fprintln(t.Output(), line)
	}); err != nil {
		t.Errorf("%s\n\n%v", s.Story, err)
	}
	return p, last
}

// TestAlerts provokes each alert.
func TestAlerts(t *testing.T) {
	for _, r := range readRules(t).rules() {
		t.Run(r.Alert, func(t *testing.T) {
			t.Parallel()
			play(t, r.Alert+".txtar")
		})
	}
}

// TestScenariosOfAlerts: each alert has one that waits for it to fire, and there is none
// of an alert that is not there. That needs no Prometheus.
func TestScenariosOfAlerts(t *testing.T) {
	files, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{"dashboard.txtar": true, "health.txtar": true}
	for _, r := range readRules(t).rules() {
		file := r.Alert + ".txtar"
		there[file] = true
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), "\nalert "+r.Alert) || !strings.Contains(string(text), " fires") {
			t.Errorf("%s does not expect that %s fires", file, r.Alert)
		}
	}
	for _, file := range files {
		if !there[file] {
			t.Errorf("%s is of no alert", file)
		}
		if _, err := scenarios.Load(file); err != nil {
			t.Error(err)
		}
	}
}

// TestHealth: no alert fires, at no time, while a healthy fleet starts, Nodes join, both daemons
// are rolled out again and another one leads. For alerts that wait for less than that takes.
func TestHealth(t *testing.T) {
	t.Parallel()
	p, last := play(t, "health.txtar")
	// That the rules were evaluated and the daemons scraped is seen in the same way.
	for expr, fails := range map[string]func(n int) bool{
		`count_over_time(ALERTS{alertstate="firing"}[1h])`:          func(n int) bool { return n != 0 },
		`count_over_time(ALERTS{alertstate="pending"}[1h])`:         func(n int) bool { return n == 0 },
		`max_over_time(vsphere_ccm_leading{job="vzones"}[1h]) == 1`: func(n int) bool { return n < 3 },
	} {
		n, err := p.series(t.Context(), expr, last)
		if err != nil || fails(n) {
			t.Errorf("%s: %d series, %v", expr, n, err)
		}
	}
}

// TestDashboard: each query of the dashboard gives something, of metrics that a real
// Prometheus has scraped from the daemon.
func TestDashboard(t *testing.T) {
	t.Parallel()
	p, last := play(t, "dashboard.txtar")
	values := strings.NewReplacer("$cluster", ".*", "$job", "vzones", "$vcenter", ".*")
	queries := 0
	for _, panel := range readPanels(t) {
		for _, target := range panel.Targets {
			queries++
			n, err := p.series(t.Context(), values.Replace(target.Expr), last)
			if n == 0 || err != nil {
				t.Errorf("%s shows nothing: %s: %v", panel.Title, target.Expr, err)
			}
		}
	}
	if queries == 0 {
		t.Error("the dashboard has no queries")
	}
}
