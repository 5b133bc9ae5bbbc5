package takeover

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/manifests"
	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/process"
	"vzones/test/stack"
)

const (
	// fleets is the number of random fleets, fewFleets with -short.
	fleets, fewFleets = 50, 3
	// stacks is the number of control planes, each for one fleet at a time.
	stacks = 2
	// quiet is how long the shadow prints nothing once it has seen everything. Tags are read each second.
	quiet = 4 * time.Second
	// shadowUser is the user of the shadow at the API server.
	shadowUser = "system:serviceaccount:kube-system:vzones-shadow"
)

// shadowConfig makes vzones write more than the vSphere CPI, and correct what differs.
const shadowConfig = `
labels: {region: region, zone: zone}
topology:
  drift: update
  settle: 0s
  levels:
  - {label: example.com/rack, tag: rack}
  - {label: example.com/host, inventory: host}
`

// TestShadowed: vzones plan --watch runs beside the vSphere CPI on random fleets. Then the CPI stops, more Nodes
// join and VMs change, and vzones takes over: it makes the predicted changes and no others. The shadow agrees with
// each change of vzones, and sends no write to the API server.
func TestShadowed(t *testing.T) {
	t.Parallel()
	old, ours := programsOf(t)
	tool := buildTool(t)
	count := fleets
	if testing.Short() {
		count = fewFleets
	}
	for part := range stacks {
		t.Run(fmt.Sprintf("stack %d", part), func(t *testing.T) {
			t.Parallel()
			w := newShadowWorld(t, old, ours, tool)
			for seed := part; seed < count && !t.Failed(); seed += stacks {
				w.play(t, uint64(seed))
			}
			w.expectNoWrites(t)
		})
	}
}

func buildTool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vzones")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "vzones/cmd/vzones").CombinedOutput(); err != nil {
		t.Fatalf("building vzones: %v\n%s", err, out)
	}
	return path
}

type shadowWorld struct {
	s               *stack.Stack
	old, ours, tool string
	kubeconfig      string
	audit           string
}

func newShadowWorld(t *testing.T, old, ours, tool string) *shadowWorld {
	t.Helper()
	dir := t.TempDir()
	w := &shadowWorld{old: old, ours: ours, tool: tool, audit: filepath.Join(dir, "audit.log")}
	policy := filepath.Join(dir, "policy.yaml")
	const text = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [%q]}
- {level: None}
`
	if err := os.WriteFile(policy, fmt.Appendf(nil, text, shadowUser), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	w.s, err = stack.Start(t.Context(), stack.Options{Fleet: randomFleet(rand.New(rand.NewPCG(0, 0))), Cluster: cluster.Options{
		Flags: map[string][]string{"kube-apiserver": {"--audit-policy-file=" + policy, "--audit-log-path=" + w.audit}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Stop(); err != nil {
			t.Error(err)
		}
	})
	isNoWorkload := func(kind string) bool { return kind != "Deployment" && kind != "ConfigMap" }
	for _, manifest := range [][]byte{[]byte(stack.CPIPermissions), manifests.Shadow} {
		if err := w.s.Cluster.Apply(t.Context(), manifest, isNoWorkload); err != nil {
			t.Fatal(err)
		}
	}
	if w.kubeconfig, err = w.s.Cluster.ServiceAccountKubeconfig(t.Context(), "kube-system", "vzones-shadow"); err != nil {
		t.Fatal(err)
	}
	return w
}

// randomFleet describes one or two vCenters with clusters and hosts, most of them tagged, and ten VMs.
func randomFleet(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for v := range 1 + random.IntN(2) {
		fmt.Fprintf(&b, "- name: vc%d\n  tags: {region: r%d}\n  datacenters:\n  - name: dc\n    clusters:\n", v, v)
		var hosts []string
		for c := range 2 + random.IntN(2) {
			fmt.Fprintf(&b, "    - name: c%d\n      tags: {zone: r%d-z%d}\n      hosts:\n", c, v, c)
			for h := range 1 + random.IntN(2) {
				host := fmt.Sprintf("h%d%d%d", v, c, h)
				hosts = append(hosts, host)
				tags := []string{"", "{rack: k1}", "{rack: k2}", fmt.Sprintf("{zone: r%d-z%d%d}", v, c, h)}[random.IntN(4)]
				fmt.Fprintf(&b, "      - {name: %s, tags: %s}\n", host, tags)
			}
		}
		b.WriteString("    vms:\n")
		for m := range 5 + random.IntN(4) {
			nics := []string{"", fmt.Sprintf(", nics: [{ips: [10.%d.9.%d, 10.%d.9.%d]}]", v, 100+m, v, 50+m)}[random.IntN(2)]
			fmt.Fprintf(&b, "    - {name: vm%d%d, host: %s%s}\n", v, m, hosts[random.IntN(len(hosts))], nics)
		}
	}
	return b.String()
}

// play shadows the CPI and then vzones on a random fleet.
func (w *shadowWorld) play(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 46))
	description := randomFleet(random)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, description)
		}
	})
	if err := w.s.Reset(t.Context(), description); err != nil {
		t.Fatal(err)
	}
	config, err := w.s.WriteConfig(shadowConfig)
	if err != nil {
		t.Fatal(err)
	}
	shadow := w.startShadow(t, config)
	defer shadow.stop(t)
	cpi := w.start(t, w.old, config)
	vms := w.s.Fleet.VMs()
	random.Shuffle(len(vms), func(i, j int) { vms[i], vms[j] = vms[j], vms[i] })
	early := vms[:len(vms)/2]
	late := vms[len(vms)/2:]
	w.register(t, early)
	w.await(t, cpi, "the CPI to initialize the Nodes", func(nodes map[string]*v1.Node) error {
		var errs []error
		for _, m := range early {
			if n := nodes[m.Name]; n == nil || complete(n) != nil {
				errs = append(errs, fmt.Errorf("Node %s", m.Name))
			}
		}
		return errors.Join(errs...)
	})
	shadow.awaitQuiet(t)
	if err := cpi.Kill(); err != nil {
		t.Fatal(err)
	}
	w.register(t, late)
	for range 4 {
		w.change(t, random, early)
	}
	shadow.awaitQuiet(t)
	before := w.nodes(t)
	entries := shadow.entries(t)
	predictions := predictionsIn(entries)
	want := applied(before, predictions)

	d := w.start(t, w.ours, config)
	w.await(t, d, "vzones to make the predicted changes", func(nodes map[string]*v1.Node) error {
		if diff := cmp.Diff(want, factsOf(nodes)); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	shadow.awaitQuiet(t)
	if diff := cmp.Diff(want, factsOf(w.nodes(t))); diff != "" {
		t.Errorf("seed %d: the Nodes after the takeover differ from the predictions (-predicted +is):\n%s", seed, diff)
	}
	off := early[0].Name
	if err := errors.Join(w.vcenter(early[0]).PowerOff(off), w.s.Cluster.SetNodeReady(t.Context(), off, v1.ConditionUnknown)); err != nil {
		t.Fatal(err)
	}
	gone := early[1].Name
	if err := errors.Join(w.vcenter(early[1]).Destroy(gone), w.s.Cluster.SetNodeReady(t.Context(), gone, v1.ConditionUnknown)); err != nil {
		t.Fatal(err)
	}
	w.await(t, d, "vzones to taint Node "+off+" and to delete Node "+gone, func(nodes map[string]*v1.Node) error {
		isTainted := slices.ContainsFunc(nodes[off].Spec.Taints, func(taint v1.Taint) bool { return taint.Key == cloudproviderapi.TaintNodeShutdown })
		if nodes[gone] != nil || !isTainted {
			return fmt.Errorf("Node %s exists: %t, Node %s is tainted: %t", gone, nodes[gone] != nil, off, isTainted)
		}
		return nil
	})
	shadow.awaitQuiet(t)
	after := shadow.entries(t)[len(entries):]
	isDeleted := false
	isTainted := false
	for _, e := range after {
		if e.Observed == nil {
			continue
		}
		if e.Observed.Verdict != "agrees" {
			t.Errorf("seed %d: the shadow differs from vzones: %+v", seed, *e.Observed)
		}
		isDeleted = isDeleted || e.Node == gone && e.Observed.Kind == "node"
		isTainted = isTainted || e.Node == off && e.Observed.Label == cloudproviderapi.TaintNodeShutdown
	}
	if len(predictions) == 0 || !isDeleted || !isTainted {
		t.Errorf("seed %d: %d predictions, deletion observed: %t, taint observed: %t", seed, len(predictions), isDeleted, isTainted)
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
}

// change makes a random change of a VM or of tags.
func (w *shadowWorld) change(t *testing.T, random *rand.Rand, vms []fleet.VM) {
	t.Helper()
	m := vms[random.IntN(len(vms))]
	v := w.vcenter(m)
	all := v.VMs()
	target := all[random.IntN(len(all))]
	var err error
	switch random.IntN(4) {
	case 0:
		err = v.MoveVM(m.Name, target.Host)
	case 1:
		err = v.Resize(m.Name, 2<<random.IntN(3), 16<<10)
	case 2:
		err = v.Retag(target.Host, "rack", fmt.Sprintf("k%d", random.IntN(4)))
	default:
		err = v.Retag("/dc/host/"+target.Cluster, "zone", fmt.Sprintf("r-%s-%s-new", target.VCenter, target.Cluster))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *shadowWorld) vcenter(m fleet.VM) *fleet.VCenter { return w.s.Fleet.VCenter(m.VCenter) }

func (w *shadowWorld) register(t *testing.T, vms []fleet.VM) {
	t.Helper()
	if err := w.s.Register(t.Context(), vms...); err != nil {
		t.Fatal(err)
	}
}

func (w *shadowWorld) start(t *testing.T, binary, config string) *stack.Daemon {
	t.Helper()
	args := []string{"--webhook-secure-port=0", "--node-status-update-frequency=1s", "--node-monitor-period=1s"}
	if binary == w.ours {
		args = append(args, "--tag-refresh=1s", "--deletion-hold=0s")
	}
	d, err := w.s.StartDaemon(binary, config, args...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *shadowWorld) nodes(t *testing.T) map[string]*v1.Node {
	t.Helper()
	nodes, err := w.s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func (w *shadowWorld) await(t *testing.T, d *stack.Daemon, what string, check func(map[string]*v1.Node) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		last = check(w.nodes(t))
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v: %v\n%s", what, err, last, tail(d.Log()))
	}
}

// expectNoWrites checks the audit log.
func (w *shadowWorld) expectNoWrites(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(w.audit)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range bytes.Lines(data) {
		var request struct{ Verb, RequestURI string }
		if err := json.Unmarshal(line, &request); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		counts[request.Verb]++
		if !slices.Contains([]string{"get", "list", "watch"}, request.Verb) {
			t.Errorf("the shadow sent %s %s", request.Verb, request.RequestURI)
		}
	}
	if counts["watch"] == 0 {
		t.Errorf("the audit log contains no watch of the shadow: %v", counts)
	}
	t.Logf("requests of the shadow by verb: %v", counts)
}

// A shadowEntry is a line of the shadow's output.
type shadowEntry struct {
	Event, Node string
	Change      *struct{ Kind, Label, Current, Result, Action, Text string }
	Observed    *struct{ Kind, Label, From, To, Verdict, Expected, Why string }
	Summary     *struct {
		Nodes             int
		Observed, Pending map[string]int
	}
}

type shadowProcess struct {
	*process.Process
	secrets stack.Search
}

func (w *shadowWorld) startShadow(t *testing.T, config string) *shadowProcess {
	t.Helper()
	p, err := process.Start(t.TempDir(), nil, "shadow", w.tool, "plan", "--watch", "-o=json", "-c="+config, "--kubeconfig="+w.kubeconfig,
		"--daemon-flag=--tag-refresh=1s", "--daemon-flag=--deletion-hold=0s")
	if err != nil {
		t.Fatal(err)
	}
	shadow := &shadowProcess{Process: p}
	for _, v := range w.s.Fleet.VCenters() {
		shadow.secrets.Add("password of "+v.Name(), v.Password())
	}
	return shadow
}

func (p *shadowProcess) output(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(p.Log())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
		t.Fatalf("the shadow exited: %s", tail(string(data)))
	default:
	}
	return data
}

func (p *shadowProcess) entries(t *testing.T) []shadowEntry {
	t.Helper()
	return entriesIn(t, p.output(t))
}

func entriesIn(t *testing.T, output []byte) []shadowEntry {
	t.Helper()
	var all []shadowEntry
	lines := bufio.NewScanner(bytes.NewReader(output))
	for lines.Scan() {
		var e shadowEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("the shadow printed %s: %v", lines.Bytes(), err)
		}
		all = append(all, e)
	}
	return all
}

// awaitQuiet waits until the shadow prints nothing more.
func (p *shadowProcess) awaitQuiet(t *testing.T) {
	t.Helper()
	size := -1
	since := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		if n := len(p.output(t)); n != size {
			size = n
			since = time.Now()
		}
		return time.Since(since) >= quiet, nil
	})
	if err != nil {
		t.Fatalf("the shadow still prints: %v", err)
	}
}

// stop ends the shadow with SIGTERM, and checks that it printed a summary and no password.
func (p *shadowProcess) stop(t *testing.T) {
	t.Helper()
	_ = p.Stop(10 * time.Second) // The exit status is 1 if the CPI differs.
	data, err := os.ReadFile(p.Log())
	if err != nil {
		t.Fatal(err)
	}
	if found := p.secrets.In(string(data)); len(found) > 0 {
		t.Errorf("the shadow printed %v", found)
	}
	if t.Failed() {
		t.Logf("the shadow's output:\n%s", data)
		return
	}
	entries := entriesIn(t, data)
	if last := entries[len(entries)-1]; last.Summary == nil || last.Summary.Observed["agrees"] == 0 {
		t.Errorf("the last line is no summary with agreements: %+v", last)
	}
}

type predictionKey struct{ node, kind, label string }

// predictionsIn returns the results of the changes that the daemon would make at the end of the output.
func predictionsIn(entries []shadowEntry) map[predictionKey]string {
	results := map[predictionKey]string{}
	for _, e := range entries {
		switch {
		case e.Observed != nil:
			delete(results, predictionKey{e.Node, e.Observed.Kind, e.Observed.Label})
		case e.Change == nil:
		case e.Event == "withdrawn" || e.Change.Action == "":
			delete(results, predictionKey{e.Node, e.Change.Kind, e.Change.Label})
		default:
			results[predictionKey{e.Node, e.Change.Kind, e.Change.Label}] = e.Change.Result
		}
	}
	return results
}

// facts are what a cloud controller manager writes to a Node, without vzones' annotations and condition.
type facts struct {
	ProviderID, Addresses string
	Labels                map[string]string
	Taints                []string
}

func factsOf(nodes map[string]*v1.Node) map[string]facts {
	all := map[string]facts{}
	for name, n := range nodes {
		f := facts{ProviderID: n.Spec.ProviderID, Addresses: addresses(n), Labels: maps.Clone(n.Labels), Taints: []string{}}
		delete(f.Labels, nodeinfo.KeyInitialized)
		for _, taint := range n.Spec.Taints {
			f.Taints = append(f.Taints, taint.Key)
		}
		slices.Sort(f.Taints)
		all[name] = f
	}
	return all
}

// twins are the keys of labels that are written together.
var twins = map[string][]string{
	v1.LabelTopologyRegion:     {v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion},
	v1.LabelTopologyZone:       {v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone},
	v1.LabelInstanceTypeStable: {v1.LabelInstanceTypeStable, v1.LabelInstanceType},
}

// applied returns the Nodes after the predicted changes.
func applied(nodes map[string]*v1.Node, predictions map[predictionKey]string) map[string]facts {
	all := factsOf(nodes)
	for key, result := range predictions {
		f := all[key.node]
		switch key.kind {
		case "providerID":
			f.ProviderID = result
		case "addresses":
			var list []string
			for _, address := range strings.Split(result, ", ") {
				list = append(list, strings.Replace(address, " ", "=", 1))
			}
			slices.SortStableFunc(list, func(a, b string) int {
				a, _, _ = strings.Cut(a, "=")
				b, _, _ = strings.Cut(b, "=")
				return strings.Compare(a, b)
			})
			f.Addresses = strings.Join(list, " ")
		case "label", "instanceType":
			labels := twins[key.label]
			if labels == nil {
				labels = []string{key.label}
			}
			for _, label := range labels {
				f.Labels[label] = result
				if result == "" {
					delete(f.Labels, label)
				}
			}
		case "taint":
			f.Taints = slices.DeleteFunc(f.Taints, func(taint string) bool { return taint == key.label })
			if result != "" {
				f.Taints = append(f.Taints, key.label)
				slices.Sort(f.Taints)
			}
		case "node":
			delete(all, key.node)
			continue
		}
		all[key.node] = f
	}
	return all
}
