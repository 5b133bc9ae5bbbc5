package operator

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/fixture"
	"vzones/test/stack"
)

// commands runs the vzones commands on a page: lines of shell blocks that start with vzones, and lines of console
// blocks that do so after a prompt. Findings are not failures.
func commands(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: commands PAGE")
	}
	content, err := os.ReadFile(filepath.Join(worldOf(ts).tool.Root, args[0]))
	ts.Check(err)
	count := 0
	for _, b := range fixture.Blocks(string(content)) {
		prompt, shown := map[string]string{"sh": "", "console": "$ "}[b.Kind]
		if !shown {
			continue
		}
		for line := range strings.Lines(b.Text) {
			line, entered := strings.CutPrefix(strings.TrimSpace(line), prompt)
			if !entered || !strings.HasPrefix(line, "vzones ") {
				continue
			}
			count++
			if err := ts.Exec("sh", "-c", line+"; test $? -le 1"); err != nil {
				ts.Fatalf("%s: %s: %v\n%s", args[0], line, err, ts.ReadFile("stderr"))
			}
		}
	}
	if count == 0 {
		ts.Fatalf("%s contains no vzones command", args[0])
	}
}

func runWithin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] within DURATION PROGRAM [ARG…]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	if took := time.Since(began); took > stack.Slower(limit) {
		ts.Fatalf("it took %v", took)
	}
	if (err != nil) != neg {
		ts.Fatalf("unexpected end: %v", err)
	}
}

func countLogins(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: logins NAME N")
	}
	v := theVCenter(ts, args[0])
	want := number(ts, args[1])
	if got := v.Requests()["Login"]; (got != want) != neg {
		ts.Fatalf("vCenter %s received %d logins: %v", v.Name(), got, v.Requests())
	}
}

// deny makes a SOAP method of a vCenter fail with NoPermission, or with ! succeed again.
func deny(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] deny NAME METHOD")
	}
	v := theVCenter(ts, args[0])
	if neg {
		v.Fault(args[1], nil)
		return
	}
	v.Fault(args[1], &types.NoPermission{PrivilegeId: "System.View"})
}

// trust writes a vCenter's current certificate to the CA file in the configuration.
func trust(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: trust NAME")
	}
	v := theVCenter(ts, args[0])
	if s := worldOf(ts).stack; s != nil {
		ts.Check(s.WriteCA(v))
		return
	}
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("ca"), v.Name()+".pem"), v.Certificate(), 0o600))
}
