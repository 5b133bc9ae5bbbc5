package scenarios

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vzones/test/cluster"
	"vzones/test/stack"
)

// missing is the reason that no scenario can be played.
var missing error

// pool contains the stacks for scenarios. There are more stacks than processors because scenarios mostly wait.
var pool = stack.NewPool(filepath.Join("..", ".."), poolSize)

const poolSize = 10

var (
	rest     = flag.Bool("rest", false, "play only the scenarios that are not in core.txt")
	kubelets = flag.Bool("kubelets", false, "play with kubelets and the node-lifecycle controller, without hand-made Nodes")
	help     = flag.Bool("commands", false, "print the commands and conditions of scripts")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if *help {
		printCommands(os.Stdout)
		return 0
	}
	pool.NodeLifecycle = *kubelets
	needed := []string{cluster.Etcd, cluster.APIServer}
	if *kubelets {
		needed = append(needed, cluster.ControllerManager, cluster.HollowKubelet)
	}
	if _, err := cluster.Find(needed...); errors.Is(err, cluster.ErrNoBinaries) {
		missing = err
		// With this line go test prints [no tests to run] behind the package's name; it hides any other
		// output of a passing package.
		fmt.Printf("testing: warning: no tests to run\nskipped all scenarios: %v\n", err)
	}
	// The default is the number of processors.
	parallel := poolSize
	if *kubelets {
		parallel = 4 // some scenarios run a hundred kubelets
	}
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Println(err)
		return 1
	}
	status := m.Run()
	if err := errors.Join(pool.Stop(), goleak.Find()); err != nil {
		fmt.Println(err)
		return 1
	}
	return status
}

// play plays a scenario on a free stack.
func play(t *testing.T, s *Scenario) error {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
	if *kubelets && s.ByHand != "" {
		t.Skip(s.ByHand)
	}
	if _, err := cluster.Find(cluster.HollowKubelet); s.HasKubelets && err != nil {
		t.Skip(err)
	}
	on, binary, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Release(on)
	timeout := 5 * time.Minute
	if *kubelets {
		timeout *= 3 // to start a hundred kubelets takes a minute on an idle host
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return s.Play(ctx, on, binary, func(line string) { fmt.Fprintln(t.Output(), line) })
}

// TestScenarios plays all scenarios; with -short, as in make test, only those in core.txt, and under the race detector
// only those in core.txt that exercise concurrency most.
func TestScenarios(t *testing.T) {
	all := load(t)
	list := readCore(t)
	played := 0
	// go test starts parallel tests in reverse order. The longest should start first.
	slices.SortStableFunc(all, func(a, b *Scenario) int { return cmp.Compare(a.Held, b.Held) })
	for _, scenario := range all {
		isConcurrent, isCore := list[scenario.Name]
		if testing.Short() && (!isCore || stack.Race && !isConcurrent) || *rest && isCore || *setOutOfService && !scenario.silences() {
			continue
		}
		played++
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			if err := play(t, scenario); err != nil {
				t.Errorf("the scenario failed: %v\n\n%s", err, scenario.Story)
			}
		})
	}
	t.Logf("%d scenarios", played)
}

// coreLine matches a scenario in core.txt. The mark race means that it exercises concurrency most.
var coreLine = regexp.MustCompile(`(?m)^([a-z0-9-]+) +(race )?`)

// readCore maps the core scenarios to whether they exercise concurrency most.
func readCore(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("core.txt")
	if err != nil {
		t.Fatal(err)
	}
	isConcurrent := map[string]bool{}
	for _, line := range coreLine.FindAllStringSubmatch(string(data), -1) {
		if _, err := os.Stat(line[1] + ".txtar"); err != nil {
			t.Errorf("core.txt: %v", err)
		}
		isConcurrent[line[1]] = line[2] != ""
	}
	return isConcurrent
}

// silences reports whether a kubelet falls silent, so that vzones may delete or taint its Node.
func (s *Scenario) silences() bool {
	var all func(steps []step) bool
	all = func(steps []step) bool {
		return slices.ContainsFunc(steps, func(step step) bool {
			return strings.Contains(step.String(), ": node unknown ") || all(step.inner)
		})
	}
	return all(s.steps)
}

// TestScenariosAreWellFormed needs no control plane.
func TestScenariosAreWellFormed(t *testing.T) { load(t) }

func load(t *testing.T) []*Scenario {
	t.Helper()
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d scenarios, error %v", len(files), err)
	}
	all := make([]*Scenario, len(files))
	for i, file := range files {
		if all[i], err = Load(file); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// TestFailures: a failed expectation reports the line, the actual state and the end of the daemon's log.
func TestFailures(t *testing.T) {
	const node, daemon = "node create node\n", "node create node\ndaemon start\nexpect node initialized\n"
	for name, c := range map[string]struct{ script, want string }{
		"wrong zone":    {daemon + "expect node initialized zone=b within 100ms", "story.txtar:11: expect node initialized zone=b within 100ms: not met within 100ms; actual:\n  node: topology.kubernetes.io/zone=a\n"},
		"not for long":  {"node create node\ndaemon start\nhold 60s node uninitialized", "actual:\n  node: initialized"},
		"touched":       {node + "daemon start\nhold 60s node untouched", "actual:\n  node: written to by vsphere-cloud-controller-manager"},
		"requests":      {daemon + "requests east Login = 7", "east: 1 requests of Login, want = 7: map"},
		"sessions left": {daemon + `vcenter east FaultREST "DELETE /*" 500`, "at the end: east has 1 sessions left (0 SOAP, 1 REST; 0 ignored)"},
		"ended":         {node + "daemon start --no-such-flag\nexpect node initialized", "story.txtar:10: expect node initialized: the daemon exited unexpectedly"},
		"no such Node":  {node + "node delete node\nexpect node initialized within 100ms", "actual:\n  node: the Node does not exist"},
		"no Event":      {node + "expect node event Fire within 100ms", "actual:\n  node: Events: none"},
		"log lines":     {daemon + "log lines 2 'Starting the vSphere'", `1 lines contain "Starting the vSphere", want 2: `},
		"no kubelet":    {node + "node restart node", "the Node node has no kubelet"},
		"no VM":         {node + "vm PowerOff other", `the fleet has no VM "other"`},
		"changed":       {node + "mark nodes\nnode label node a=b\nexpect node unchanged within 100ms", "actual:\n  node: written to since `mark nodes`, last by "},
		"status":        {node + "mark nodes\nnode unknown node\nexpect node as-marked within 100ms", "actual:\n  node: &Node{"},
		"metric":        {daemon + "metric vsphere_ccm_nodes{outcome=placed} = 7 within 1s", "vsphere_ccm_nodes{outcome=placed} is 1, want = 7"},
		"too early":     {daemon + "metric vsphere_ccm_nodes{outcome=placed} = 1 after 1h", ", want at least 1h0m0s"},
		"lost":          {node + "writer start 10ms\nexpect node tainted example.com/writer\nnode label node example.com/writer=0\nwriter stop", "a change by the other writer to node is lost: "},
		"no Pod Event":  {daemon + "pod event Fire says smoke within 100ms", "pod event Fire says smoke within 100ms: not met within 100ms; actual: Events: none"},
		"leak":          {daemon + "secret write east password=" + "vsphere-vm", "the log contains a password of the script as plain text"},
		"Event":         {daemon + "expect node event Synced\nsecret write \"password=synced successfully\"", "an Event contains a password of the script as plain text"},
		"second round":  {node + "repeat 2 {\nexpect node exists within 100ms\nnode delete node\n}", "round 2 of 2: story.txtar:10: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := loaded(t, strings.Replace(head, "{name: dc,", "{name: dc, tags: {zone: a},", 1)+c.script+"\nhold 1ms node exists\n")
			if err != nil {
				t.Fatal(err)
			}
			err = play(t, s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("\n got: %v\nwant: %s", err, c.want)
			}
			if strings.Contains(c.script, "daemon start") && !strings.Contains(err.Error(), "\nthe end of the daemon's log, without requests and responses:\n") {
				t.Errorf("the error does not contain the end of the log: %v", err)
			}
		})
	}
}
