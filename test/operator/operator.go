// Package operator has the commands of scripts that run the operator's tool, for testscript: they start
// simulated vCenters, and where a script wants one a real control plane, and change both.
//
// A few control planes serve all scripts of a process.
package operator

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// startTime bounds what a command of a script waits for.
const startTime = 2 * time.Minute

// stacks is how many control planes there are at most.
const stacks = 3

// Scripts are what the scripts of a process share.
type Scripts struct {
	// Root is the path of the repository's root.
	Root string

	pool *stack.Pool
}

// NewScripts returns scripts for the repository whose root is at a path. The caller must call
// Stop.
func NewScripts(root string) *Scripts {
	return &Scripts{Root: root, pool: stack.NewPool(root, stacks)}
}

// Stop ends the control planes that scripts have started.
func (t *Scripts) Stop() error { return t.pool.Stop() }

// world is what one script has.
type world struct {
	tool  *Scripts
	fleet *fleet.Fleet
	// stack is nil without a control plane, daemon is the path of the daemon for it.
	stack  *stack.Stack
	daemon string
}

// key is that of a script's world in testscript's environment.
type key struct{}

// Setup is testscript's. It sets ROOT to the root's path.
func (t *Scripts) Setup(env *testscript.Env) error {
	w := &world{tool: t}
	env.Values[key{}] = w
	root, err := filepath.Abs(t.Root)
	if err != nil {
		return err
	}
	env.Setenv("ROOT", root)
	env.Defer(func() {
		switch {
		case w.stack != nil:
			t.pool.Release(w.stack) // the next script closes the fleet
		case w.fleet != nil:
			w.fleet.Close()
		}
	})
	return nil
}

// bounded returns the context of a command, which ends with its time or with the script.
func bounded(ts *testscript.TestScript) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	ts.Defer(cancel)
	return ctx
}

func of(ts *testscript.TestScript) *world { return ts.Value(key{}).(*world) }

// Commands returns the commands:
//
//	fleet FILE [MORE]          starts the vCenters that a file describes, and writes vsphere.yaml with
//	                           credentials; the content of MORE is put behind it
//	stack FILE [MORE]          the same with a control plane: sets KUBECONFIG, and the credentials are in the Secret.
//	                           Again in a script it begins anew, without the Nodes and vCenters of before
//	waiting [NAME…]            sets KUBECONFIG to a list of Nodes that wait, by default of all machines; nothing else is served
//	register [VM…]             creates Nodes for these machines, or for all
//	install [FLAG…]            creates the daemon's Pod with these flags and its ConfigMap; nothing runs in it
//	[!] within DURATION CMD…   runs a program, and fails if it takes three times as long, or longer
//	sleep DURATION             lets time pass for a command in the background
//	daemon run [addresses]     runs the daemon until each Node is initialized, or has its addresses too, and ends it
//	daemon run event NODE      runs the daemon until a Node has an Event of vzones, and ends it
//	vcenter NAME METHOD ARG…   calls a method of fleet.VCenter, such as MoveVM
//	[!] requests NAME N        fails if the vCenter had more than N requests since it was started or reset
//	[!] logins NAME N          fails unless a password was shown to the vCenter N times since it was started or reset
//	sessions NAME N            waits until the vCenter has N sessions
//	ready NODE STATUS          makes a Node's Ready condition True, False or Unknown
//	commands PAGE              enters the commands of the tool that the page shows
//	entries NAME FILE DC…      writes vsphere.yaml as FILE, with an entry of its vCenter for each of these datacenters
//	config FILE MORE           writes vsphere.yaml as FILE, with the content of MORE in place of the same keys
//	planned FILE [addresses]   runs the daemon until each Node is as a plan of vzones plan, as JSON, says it will be:
//	                           labels, taints, deletions, with the word also addresses; and fails if it does anything else
//	apply FILE                 makes the objects of a manifest, or changes them, until the script ends
//	delete FILE                deletes the objects of a manifest
//	relabel NODE KEY=VALUE…    changes labels of a Node; KEY- removes one
//	account NAME               makes KUBECONFIG that of a ServiceAccount in the namespace default
//	node NAME [KEY=VALUE…]     creates a Node with vm=NAME or uuid=UUID, provider=VM or id=ID, label=KEY=VALUE, untainted
//	[!] deny NAME METHOD       has the vCenter answer NoPermission to a SOAP method
//	trust NAME                 writes the certificate that the vCenter shows now as its CA
//	asked NAME N               waits until the vCenter had N requests since it was started or reset
func (t *Scripts) Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"fleet": startFleet, "stack": startStack, "register": register, "waiting": waiting, "daemon": daemon,
		"install": installDaemon, "sleep": pause, "within": runWithin,
		"vcenter": callVCenter, "requests": countRequests, "sessions": awaitSessions,
		"commands": commands,
		"entries":  writeEntries, "logins": countLogins,
		"planned": planned, "config": anotherConfig, "ready": setReady,
		"apply": apply, "delete": deleteObjects, "relabel": relabel, "account": account,
		"node": createNode, "deny": deny, "trust": trust, "asked": awaitRequests,
	}
}

func files(ts *testscript.TestScript, args []string) (description, more string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: fleet|stack FILE [MORE]")
	}
	if len(args) == 2 {
		more = ts.ReadFile(args[1])
	}
	return ts.ReadFile(args[0]), more
}

func startFleet(ts *testscript.TestScript, _ bool, args []string) {
	w := of(ts)
	description, more := files(ts, args)
	spec, err := fleet.Parse([]byte(description))
	ts.Check(err)
	ctx := bounded(ts)
	w.fleet, err = fleet.Start(ctx, spec)
	ts.Check(err)
	dir := ts.MkAbs("ca")
	ts.Check(os.MkdirAll(dir, 0o700))
	cfg, err := fleet.ConfigYAML(w.fleet, fleet.ConfigOptions{CADir: dir})
	ts.Check(err)
	writeConfig(ts, "vsphere.yaml", cfg, more)
}

// writeConfig writes a configuration. What is in more replaces what the configuration has under the
// same key.
func writeConfig(ts *testscript.TestScript, file string, cfg []byte, more string) {
	text := string(cfg)
	for line := range strings.Lines(more) {
		if name, _, ok := strings.Cut(line, ":"); ok && name != "" && !strings.ContainsAny(name[:1], " \t-#") {
			text = withoutKey(text, name)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text+more), 0o600))
}

// withoutKey takes a top-level key with its value out of a YAML document.
func withoutKey(text, name string) string {
	var b strings.Builder
	within := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			within = strings.HasPrefix(line, name+":")
		}
		if !within {
			b.WriteString(line)
		}
	}
	return b.String()
}

func startStack(ts *testscript.TestScript, _ bool, args []string) {
	w := of(ts)
	description, more := files(ts, args)
	if w.stack == nil {
		var err error
		w.stack, w.daemon, err = w.tool.pool.Acquire(context.Background())
		ts.Check(err)
	}
	s := w.stack
	ctx := bounded(ts)
	ts.Check(s.Reset(ctx, description))
	w.fleet = s.Fleet
	if _, err := s.WriteConfig(""); err != nil {
		ts.Fatalf("%v", err)
	}
	writeConfig(ts, "vsphere.yaml", append(s.Config(), "labels:\n  region: region\n  zone: zone\n"...), more)
	ts.Setenv("KUBECONFIG", s.Cluster.AdminKubeconfig())
}

func needStack(ts *testscript.TestScript) *stack.Stack {
	s := of(ts).stack
	if s == nil {
		ts.Fatalf("there is no control plane: the script has to begin with stack")
	}
	return s
}

func register(ts *testscript.TestScript, _ bool, names []string) {
	s := needStack(ts)
	machines := s.Fleet.Machines()
	if len(names) > 0 {
		machines = nil
		for _, name := range names {
			m, err := s.Fleet.Machine(name)
			ts.Check(err)
			machines = append(machines, m)
		}
	}
	ctx := bounded(ts)
	ts.Check(s.Register(ctx, machines...))
}

func daemon(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	done := allInitialized
	var flags []string
	switch {
	case len(args) == 1 && args[0] == "run":
	case len(args) == 2 && args[0] == "run" && args[1] == "addresses":
		// Otherwise those of Nodes that are initialized wait for minutes.
		done = allHaveAddresses
		flags = []string{"--node-status-update-frequency=1s"}
	case len(args) == 3 && args[0] == "run" && args[1] == "event":
		done = hasEvent(s, args[2])
	default:
		ts.Fatalf("usage: daemon run [addresses | event NODE]")
	}
	ctx := bounded(ts)
	d, err := s.StartDaemon(of(ts).daemon, ts.MkAbs("vsphere.yaml"), flags...)
	ts.Check(err)
	if err = untilReady(ctx, d); err == nil {
		err = s.Watch(ctx, "the daemon has done it", done)
	}
	if _, end := d.Stop(); err == nil {
		err = end
	}
	if err != nil {
		ts.Fatalf("%v\n%s", err, d.Log())
	}
}

func callVCenter(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: vcenter NAME METHOD ARG…")
	}
	do, err := fleet.Method(args[1], args[2:])
	ts.Check(err)
	ts.Check(do(theVCenter(ts, args[0])))
}

func theVCenter(ts *testscript.TestScript, name string) *fleet.VCenter {
	f := of(ts).fleet
	if f == nil {
		ts.Fatalf("there are no vCenters: the script has to begin with fleet or stack")
	}
	v := f.VCenter(name)
	if v == nil {
		ts.Fatalf("there is no vCenter %s", name)
	}
	return v
}

func countRequests(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: requests NAME N")
	}
	v := theVCenter(ts, args[0])
	most := number(ts, args[1])
	if got := v.Total(); got > most != neg {
		ts.Fatalf("vCenter %s had %d requests: %v", v.Name(), got, v.Requests())
	}
}

func awaitSessions(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sessions NAME N")
	}
	v := theVCenter(ts, args[0])
	want := number(ts, args[1])
	if err := await(func() bool { return v.Sessions() == want }); err != nil {
		ts.Fatalf("vCenter %s has %d sessions, want %d: %v", v.Name(), v.Sessions(), want, err)
	}
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}
