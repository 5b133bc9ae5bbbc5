package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/manifests"
	"vzones/test/fleet"
)

const handOverFleet = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - name: dc
    clusters: [{name: c1, hosts: 1, tags: {zone: a}}, {name: c2, hosts: 1, tags: {zone: b}}]
    vms: [{name: a, count: 8, cluster: c1}, {name: b, count: 8, cluster: c2}]
`

// A witness sees every change of every Node.
type nodeWitness struct {
	seen map[string]*v1.Node
	// initialized counts how often a Node lost the taint, and deleted which went.
	initialized map[string]int
	deleted     []string
	relabeled   []string
}

func (w *nodeWitness) add(n *v1.Node) {
	before := w.seen[n.Name]
	if before != nil && !Initialized(before) && Initialized(n) {
		w.initialized[n.Name]++
	}
	if before != nil && Initialized(before) {
		if !Initialized(n) {
			w.relabeled = append(w.relabeled, n.Name+" has the taint again")
		}
		for key, value := range before.Labels {
			if n.Labels[key] != value {
				w.relabeled = append(w.relabeled, fmt.Sprintf("%s: %s from %q to %q", n.Name, key, value, n.Labels[key]))
			}
		}
	}
	w.seen[n.Name] = n
}

// witnessed watches all Nodes from now on; the function ends it and returns what was seen.
func witnessed(t *testing.T, s *Stack) func() *nodeWitness {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := s.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	w := &nodeWitness{seen: map[string]*v1.Node{}, initialized: map[string]int{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range watch.ResultChan() {
			n, ok := e.Object.(*v1.Node)
			switch {
			case !ok && ctx.Err() != nil: // it is over
			case !ok:
				w.relabeled = append(w.relabeled, fmt.Sprintf("the watch ended: %v", e.Object))
			case e.Type == "DELETED":
				w.deleted = append(w.deleted, n.Name)
			default:
				w.add(n)
			}
		}
	}()
	return func() *nodeWitness {
		<-time.After(2 * time.Second) // what is wrong may come late
		cancel()
		watch.Stop()
		<-done
		return w
	}
}

// manifestArgs are the daemon's arguments in the manifest that say how it works, and none
// of where its files are.
func manifestArgs(t *testing.T) []string {
	t.Helper()
	_, args, _ := strings.Cut(string(manifests.Plain), "        args:\n")
	var all []string
	for line := range strings.Lines(args) {
		arg, ok := strings.CutPrefix(strings.TrimSpace(line), "- --")
		if !ok {
			break
		}
		if !strings.HasPrefix(arg, "cloud-") {
			all = append(all, "--"+arg)
		}
	}
	if len(all) == 0 {
		t.Fatal("the manifest has no arguments")
	}
	for _, arg := range all {
		if strings.HasPrefix(arg, "--leader-elect") {
			return all
		}
	}
	return append(all, "--leader-elect=true") // the daemon's default, which StartDaemon switches off
}

// TestHandOver: of two daemons as the manifest has them the one that leads ends while Nodes
// join. The other leads within 2 s of SIGTERM, within the Lease's time of SIGKILL; each
// Node is initialized once, and none is deleted or loses or changes a label.
func TestHandOver(t *testing.T) {
	s := start(t, handOverFleet)
	for name, c := range map[string]struct {
		end  func(*Daemon) error
		most time.Duration
	}{
		"SIGTERM": {func(d *Daemon) error { _, err := d.Stop(); return err }, 2 * time.Second},
		"SIGKILL": {(*Daemon).kill, 15*time.Second + 4*time.Second}, // the Lease's time, and two looks of a standby at it; docs/how-to/upgrade-and-remove.md says 20 s
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Reset(t.Context(), handOverFleet); err != nil {
				t.Fatal(err)
			}
			config, err := s.WriteConfig(labels)
			if err != nil {
				t.Fatal(err)
			}
			all := s.Fleet.Machines()
			before, during := all[:4], all[4:]
			first, err := s.StartDaemon(binary, config, manifestArgs(t)...)
			if err != nil {
				t.Fatal(err)
			}
			w := witnessed(t, s)
			if err := s.Register(t.Context(), before...); err != nil {
				t.Fatal(err)
			}
			initialized(t, s, first, before)
			// One that is killed between the two writes for a Node leaves its addresses to the
			// next status update, which comes every five minutes.
			second, err := s.StartDaemon(binary, config, append(manifestArgs(t), "--node-status-update-frequency=10s")...)
			if err != nil {
				t.Fatal(err)
			}
			healthy(t, second)
			holder := holderOf(t, s)

			joined := make(chan error, 1)
			go func() { joined <- join(t.Context(), s, during) }()
			<-time.After(300 * time.Millisecond) // some before, some behind
			ended := time.Now()
			if err := c.end(first); err != nil {
				t.Fatal(err)
			}
			took := ledBy(t, s, second, holder).Sub(ended)
			if err := <-joined; err != nil {
				t.Fatal(err)
			}
			initialized(t, s, second, all)
			t.Logf("the other leads %v behind %s", took.Round(10*time.Millisecond), name)
			if took > Slower(c.most) {
				t.Errorf("the other leads %v behind %s, want %v", took, name, c.most)
			}
			once(t, w(), all)
		})
	}
}

// join registers Nodes over two seconds.
func join(ctx context.Context, s *Stack, machines []fleet.Machine) error {
	for _, m := range machines {
		if err := s.Register(ctx, m); err != nil {
			return err
		}
		<-time.After(2 * time.Second / time.Duration(len(machines)))
	}
	return nil
}

// once checks what a witness has seen of the Nodes of machines.
func once(t *testing.T, w *nodeWitness, machines []fleet.Machine) {
	t.Helper()
	if len(w.deleted) > 0 || len(w.relabeled) > 0 {
		t.Errorf("deleted: %q; changed after they were initialized: %q", w.deleted, w.relabeled)
	}
	for _, m := range machines {
		n, zone := w.seen[m.Name], m.Name[:1]
		if w.initialized[m.Name] != 1 || n == nil || n.Labels[v1.LabelTopologyZone] != zone || n.Labels[v1.LabelTopologyRegion] != "east" {
			t.Errorf("Node %s was initialized %d times, and is in zone %q, want %q", m.Name, w.initialized[m.Name], n.Labels[v1.LabelTopologyZone], zone)
		}
	}
	if len(w.initialized) != len(machines) {
		t.Errorf("initialized: %v", slices.Sorted(maps.Keys(w.initialized)))
	}
}

func holderOf(t *testing.T, s *Stack) string {
	t.Helper()
	l, err := s.Client.CoordinationV1().Leases(namespace).Get(t.Context(), serviceAccount, metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		t.Fatalf("the Lease has no holder: %v", err)
	}
	return *l.Spec.HolderIdentity
}

// ledBy waits until another one than a former holder has the Lease, and returns when.
func ledBy(t *testing.T, s *Stack, d *Daemon, former string) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := until(ctx, func() (bool, error) {
		l, err := s.Client.CoordinationV1().Leases(namespace).Get(ctx, serviceAccount, metav1.GetOptions{})
		return err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && *l.Spec.HolderIdentity != former, err
	})
	if err != nil {
		t.Fatalf("nobody leads: %v\n%s", err, d.Log())
	}
	return time.Now()
}
