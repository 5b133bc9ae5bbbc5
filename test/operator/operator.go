// Package operator implements testscript commands for scripts that run vzones. They start and change simulated
// vCenters and, on demand, a real control plane. The scripts of a process share a few control planes.
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

const startTime = 2 * time.Minute

const stacks = 3

// Scripts is the state shared by the scripts of a process.
type Scripts struct {
	// Root is the root of the repository.
	Root string

	pool *stack.Pool
}

// NewScripts returns the state for scripts in the repository at root. The caller must call Stop.
func NewScripts(root string) *Scripts {
	return &Scripts{Root: root, pool: stack.NewPool(root, stacks)}
}

// Stop stops the control planes.
func (t *Scripts) Stop() error { return t.pool.Stop() }

type world struct {
	tool  *Scripts
	fleet *fleet.Fleet
	// stack is nil without a control plane. daemon is the path of its daemon.
	stack  *stack.Stack
	daemon string
}

type key struct{}

// Setup is the setup function for testscript. It sets ROOT to the repository's root.
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

// bounded returns a context that ends after startTime or with the script.
func bounded(ts *testscript.TestScript) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	ts.Defer(cancel)
	return ctx
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(key{}).(*world) }

// Commands returns the commands:
//
//	fleet FILE [MORE]          starts the vCenters described in FILE and writes vsphere.yaml with
//	                           credentials and the content of MORE appended
//	stack FILE [MORE]          the same with a control plane: sets KUBECONFIG and stores the credentials in the Secret.
//	                           When repeated in a script, it starts over without the previous Nodes and vCenters
//	waiting [NAME…]            sets KUBECONFIG to a server that only lists uninitialized Nodes, by default of all VMs
//	register [VM…]             creates Nodes for these VMs, or for all
//	install [FLAG…]            creates the daemon's Pod with these flags and its ConfigMap, without running it
//	deploy [NODE] [NAME=VALUE…] creates the manifest's DaemonSet with these variables and its ConfigMap. With a Node, its
//	                           Pod is ready and holds the Lease; without, it has no Pod
//	crash RESTARTS MESSAGE     makes the DaemonSet's Pod crash with this message
//	lease HOLDER AGE           sets the holder of the Lease, of 60 s, and the time since its renewal; ! lease deletes it
//	[!] revoke [RESOURCE]      takes permissions from the daemon's ServiceAccount
//	warn KIND NAME REASON TEXT records a Warning of the daemon about a Node or its Pod
//	[!] within DURATION CMD…   runs a program and fails if it takes much longer
//	sleep DURATION             waits for a command in the background
//	daemon run [addresses]     runs the daemon until each Node is initialized, or also has its addresses
//	daemon run event NODE      runs the daemon until vzones has recorded an Event for the Node
//	vcenter NAME METHOD ARG…   calls a method of fleet.VCenter, such as MoveVM
//	[!] requests NAME N        fails if the vCenter received more than N requests since its start or reset
//	[!] logins NAME N          fails unless the vCenter received N password logins since its start or reset
//	sessions NAME N            waits until the vCenter has N sessions
//	ready NODE STATUS          sets a Node's Ready condition to True, False or Unknown
//	commands PAGE              runs the vzones commands on the documentation page
//	entries NAME FILE DC…      writes vsphere.yaml to FILE, with an entry of its vCenter for each of these datacenters
//	config FILE MORE           writes vsphere.yaml to FILE, with keys replaced by the content of MORE
//	planned FILE [addresses]   runs the daemon until each Node has the labels and taints, and optionally the
//	                           addresses, or is deleted, as in the JSON output of vzones plan in FILE; fails on
//	                           any other change
//	apply FILE                 creates or changes the objects of a manifest until the script ends
//	delete FILE                deletes the objects of a manifest
//	relabel NODE KEY=VALUE…    changes labels of a Node; KEY- removes a label; --field-manager=kubelet as a kubelet
//	account NAME               sets KUBECONFIG to a kubeconfig of a ServiceAccount in the namespace default
//	node NAME [KEY=VALUE…]     creates a Node with vm=NAME or uuid=UUID, provider=VM or id=ID, label=KEY=VALUE, untainted
//	[!] deny NAME METHOD       makes a SOAP method of the vCenter fail with NoPermission
//	trust NAME                 writes the vCenter's current certificate to its CA file
//	asked NAME N               waits until the vCenter has received N requests since its start or reset
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
		"deploy": deploy, "crash": crash, "lease": holdLease, "revoke": revoke, "warn": warnOf,
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
	w := worldOf(ts)
	description, extra := files(ts, args)
	spec, err := fleet.Parse([]byte(description))
	ts.Check(err)
	ctx := bounded(ts)
	w.fleet, err = fleet.Start(ctx, spec)
	ts.Check(err)
	dir := ts.MkAbs("ca")
	ts.Check(os.MkdirAll(dir, 0o700))
	cfg, err := fleet.ConfigYAML(w.fleet, fleet.ConfigOptions{CADir: dir})
	ts.Check(err)
	writeConfig(ts, "vsphere.yaml", cfg, extra)
}

// writeConfig writes a configuration with the top-level keys in more replaced.
func writeConfig(ts *testscript.TestScript, file string, cfg []byte, extra string) {
	text := string(cfg)
	for line := range strings.Lines(extra) {
		if name, _, ok := strings.Cut(line, ":"); ok && name != "" && !strings.ContainsAny(name[:1], " \t-#") {
			text = withoutKey(text, name)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text+extra), 0o600))
}

func withoutKey(text, name string) string {
	var b strings.Builder
	isInside := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			isInside = strings.HasPrefix(line, name+":")
		}
		if !isInside {
			b.WriteString(line)
		}
	}
	return b.String()
}

func startStack(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	description, extra := files(ts, args)
	if w.stack == nil {
		var err error
		w.stack, w.daemon, err = w.tool.pool.Acquire(context.Background())
		ts.Check(err)
	}
	s := w.stack
	ctx := bounded(ts)
	ts.Check(s.Reset(ctx, description))
	removeWorkload(s)
	w.fleet = s.Fleet
	if _, err := s.WriteConfig(""); err != nil {
		ts.Fatalf("%v", err)
	}
	writeConfig(ts, "vsphere.yaml", append(s.Config(), "labels:\n  region: region\n  zone: zone\n"...), extra)
	ts.Setenv("KUBECONFIG", s.Cluster.AdminKubeconfig())
}

func needStack(ts *testscript.TestScript) *stack.Stack {
	s := worldOf(ts).stack
	if s == nil {
		ts.Fatalf("no control plane: the script must begin with stack")
	}
	return s
}

func register(ts *testscript.TestScript, _ bool, names []string) {
	s := needStack(ts)
	vms := s.Fleet.VMs()
	if len(names) > 0 {
		vms = nil
		for _, name := range names {
			m, err := s.Fleet.VM(name)
			ts.Check(err)
			vms = append(vms, m)
		}
	}
	ctx := bounded(ts)
	ts.Check(s.Register(ctx, vms...))
}

func daemon(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	done := allInitialized
	var flags []string
	switch {
	case len(args) == 1 && args[0] == "run":
	case len(args) == 2 && args[0] == "run" && args[1] == "addresses":
		// The default interval for addresses of initialized Nodes is minutes.
		done = allHaveAddresses
		flags = []string{"--node-status-update-frequency=1s"}
	case len(args) == 3 && args[0] == "run" && args[1] == "event":
		done = hasEvent(s, args[2])
	default:
		ts.Fatalf("usage: daemon run [addresses | event NODE]")
	}
	ctx := bounded(ts)
	d, err := s.StartDaemon(worldOf(ts).daemon, ts.MkAbs("vsphere.yaml"), flags...)
	ts.Check(err)
	if err = untilReady(ctx, d); err == nil {
		err = s.Watch(ctx, "the daemon is done", done)
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
	call, err := fleet.Method(args[1], args[2:])
	ts.Check(err)
	ts.Check(call(theVCenter(ts, args[0])))
}

func theVCenter(ts *testscript.TestScript, name string) *fleet.VCenter {
	f := worldOf(ts).fleet
	if f == nil {
		ts.Fatalf("no vCenters: the script must begin with fleet or stack")
	}
	v := f.VCenter(name)
	if v == nil {
		ts.Fatalf("unknown vCenter %s", name)
	}
	return v
}

func countRequests(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: requests NAME N")
	}
	v := theVCenter(ts, args[0])
	limit := number(ts, args[1])
	if got := v.Total(); got > limit != neg {
		ts.Fatalf("vCenter %s received %d requests: %v", v.Name(), got, v.Requests())
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
