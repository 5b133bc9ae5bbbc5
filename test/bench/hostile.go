package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/manifests"
	"vzones/test/bench/figures"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// hostileWindow is how long the daemon runs beside hostile Nodes: its log is
	// counted for that long, and so is what becomes of honest Nodes.
	hostileWindow = time.Minute
	// hostileTimeout is how long honest Nodes are waited for: longer counts as this.
	hostileTimeout = 40 * time.Second
)

// hostiles are the cases of Nodes and machines that lie.
func hostiles() []benchCase {
	limit, _, err := installed()
	if err != nil {
		panic(err) // the manifest is built in
	}
	return []benchCase{{
		name: "hostile", about: "the daemon starts; 100 Nodes and 20 machines are hostile",
		fleet: layout{vcenters: 3, nodes: 300}, measure: hostile, runs: repeats, deadline: 8 * time.Minute,
		bounds: []figures.Bound{
			{Of: figures.TimesHealthy, Max: 1.5}, {Of: figures.PeakMiB, Max: limit}, {Of: figures.LogPerMinute, Max: 1},
			{Of: figures.Unserved, Max: 0}, {Of: figures.Deleted, Max: 0},
		},
	}}
}

// installed returns the memory limit in the manifest, in MiB, and its verbosity.
func installed() (limit float64, verbosity string, err error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests.Plain)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return 0, "", errors.New("the manifest has no DaemonSet with a memory limit")
		}
		if err != nil {
			return 0, "", err
		}
		var set appsv1.DaemonSet
		if err := yaml.Unmarshal(document, &set); err != nil || set.Kind != "DaemonSet" {
			continue
		}
		for _, c := range set.Spec.Template.Spec.Containers {
			for _, arg := range c.Args {
				if level, ok := strings.CutPrefix(arg, "--v="); ok {
					verbosity = level
				}
			}
			if memory := c.Resources.Limits.Memory(); !memory.IsZero() {
				return float64(memory.Value()) / (1 << 20), verbosity, nil
			}
		}
	}
}

// hostile measures what hostile Nodes and machines do to honest ones: the time until
// those are initialized, and what becomes of them, of the memory and of the log in a
// minute. The same is measured without them.
func hostile(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
	result.TimeOf = "last Node"
	all := honestNodes{nodes: b.stack.Fleet.Machines()}
	for i, v := range b.stack.Fleet.VCenters() {
		victim := victimSpec(i)
		if err := v.Create(bareDatacenter, victim); err != nil {
			return err
		}
		all.victims = append(all.victims, victimNode(victim))
	}
	var daemons, healthy []*figures.Reading
	b.report("%s: in every second run the claims are of made-up UUIDs", c.name)
	for n := range c.runs {
		b.report("%s: run %d of %d", c.name, n+1, c.runs)
		reading, err := b.runBeside(ctx, c, &all, nil, nil)
		if err != nil {
			return fmt.Errorf("without hostile Nodes: %w", err)
		}
		if reading.Harm.Unserved+reading.Harm.Deleted > 0 {
			return fmt.Errorf("without hostile Nodes: %+v", *reading.Harm)
		}
		healthy = append(healthy, reading)
		machines, err := newHostileMachines(b.stack.Fleet, all.nodes)
		if err != nil {
			return err
		}
		reading, err = b.runBeside(ctx, c, &all, hostileNodes(b.stack.Fleet, all.nodes, n%2 == 1), result)
		if err := errors.Join(err, machines.remove()); err != nil {
			return err
		}
		daemons = append(daemons, reading)
	}
	result.Daemon, result.Healthy = figures.Worst(daemons), figures.Median(healthy)
	result.Compare()
	return nil
}

// honestNodes are without faults: machines whose Nodes wait, and Nodes that run,
// are not ready and whose machines cannot be read.
type honestNodes struct {
	nodes   []fleet.Machine
	victims []*v1.Node
}

// runBeside starts the daemon with the honest Nodes and these others, and watches what
// becomes of the honest ones.
func (b *bench) runBeside(ctx context.Context, c benchCase, all *honestNodes, others []*v1.Node, result *figures.Case) (*figures.Reading, error) {
	b.others = append(append([]*v1.Node(nil), all.victims...), others...)
	defer func() { b.others = nil }()
	t, err := b.launch(ctx, c.name, b.daemon, all.nodes)
	if err != nil {
		return nil, err
	}
	took, err := t.awaitFor(ctx, all.nodes, hostileTimeout)
	if err != nil {
		return nil, t.abandon(err)
	}
	late, _ := t.nodes.missing()
	requests := t.requests()
	b.report("%s: %d of %d honest Nodes beside %d hostile ones in %s", c.name, len(all.nodes)-late, len(all.nodes), len(others), took.Round(time.Millisecond))
	if len(others) > 0 {
		if err := t.pause(ctx, hostileWindow-time.Since(t.started)); err != nil {
			return nil, t.abandon(err)
		}
	}
	seconds := time.Since(t.started).Seconds()
	log, err := os.Stat(t.daemon.LogPath())
	if err != nil {
		return nil, t.abandon(err)
	}
	harm, note, err := b.audit(ctx, all, others)
	if err != nil {
		return nil, t.abandon(err)
	}
	harm.Unserved = max(harm.Unserved, late)
	if result != nil && note != "" {
		result.Notes = append(result.Notes, note)
	}
	reading, err := t.end(took, requests)
	if err != nil {
		return nil, err
	}
	reading.LogBytes, reading.LogSeconds, reading.Harm = log.Size(), seconds, &harm
	return reading, nil
}

// awaitFor waits until the Nodes of machines are initialized, at most for a while, and
// returns how long that was.
func (t *trial) awaitFor(ctx context.Context, machines []fleet.Machine, timeout time.Duration) (time.Duration, error) {
	full := t.nodes.expect(machines)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-full:
		return t.sinceStart(machines), nil
	case <-timer.C:
		return timeout, nil
	case <-t.daemon.Exited():
		return 0, t.failure(errEnded)
	case <-ctx.Done():
		return 0, t.failure(context.Cause(ctx))
	}
}

// audit counts the honest Nodes that are harmed. The note says by what, as far as others
// lie about them, and names others that have an honest Node's identity.
func (b *bench) audit(ctx context.Context, all *honestNodes, others []*v1.Node) (figures.Harm, string, error) {
	var harm figures.Harm
	list, err := b.stack.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return harm, "", err
	}
	nodes := map[string]*v1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	honest := map[string]bool{} // provider IDs
	by := map[string]int{}
	for _, m := range all.nodes {
		honest[m.ProviderID()] = true
		n := nodes[m.Name]
		delete(nodes, m.Name)
		switch {
		case n == nil:
			harm.Deleted++
			by["deleted: "+suspects(m, others)]++
		case !stack.Initialized(n) || n.Spec.ProviderID != m.ProviderID() || n.Labels[v1.LabelTopologyZone] != zone(m.VCenter, m.Cluster):
			harm.Unserved++
			by[suspects(m, others)]++
		}
	}
	for _, v := range all.victims {
		if nodes[v.Name] == nil {
			harm.Deleted++
			by["deleted: "+v.Name]++
		}
		delete(nodes, v.Name)
	}
	taken := 0
	for _, n := range nodes {
		if honest[n.Spec.ProviderID] && stack.Initialized(n) {
			taken++
		}
	}
	var harmed []string
	for _, what := range slices.Sorted(maps.Keys(by)) {
		harmed = append(harmed, fmt.Sprintf("%d by %s", by[what], what))
	}
	if harmed == nil {
		harmed = []string{"none"}
	}
	return harm, fmt.Sprintf("honest Nodes that are harmed: %s; hostile Nodes that are initialized as an honest Node's machine: %d",
		strings.Join(harmed, ", "), taken), nil
}

// suspects are the kinds of Nodes that lie about a machine.
func suspects(m fleet.Machine, others []*v1.Node) string {
	kinds := map[string]bool{}
	for _, n := range others {
		ip := n.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
		if n.Spec.ProviderID == m.ProviderID() || n.Status.NodeInfo.SystemUUID == m.UUID ||
			slices.ContainsFunc(m.IPs, func(a string) bool { return ip == a || strings.HasPrefix(ip, a+",") }) {
			kind, _, _ := strings.Cut(n.Name, "-")
			kinds[kind] = true
		}
	}
	if len(kinds) == 0 {
		return "nobody in particular (" + m.Name + ")"
	}
	return strings.Join(slices.Sorted(maps.Keys(kinds)), " and ")
}
