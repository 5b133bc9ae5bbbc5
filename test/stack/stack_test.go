package stack

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fleet"
)

const labels = "labels: {region: region, zone: zone}\n"

// sixZones are three vCenters with two datacenters of two clusters each, the
// same in all of them, so that managed object IDs repeat.
func sixZones(nodes int) string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for _, v := range []string{"east", "north", "west"} {
		fmt.Fprintf(&b, "- name: %s\n  tags: {region: %s}\n  datacenters:\n", v, v)
		for _, dc := range []string{"a", "b"} {
			fmt.Fprintf(&b, "  - name: dc-%s\n    tags: {zone: %s-%s}\n    clusters: [{name: %s1, hosts: 2}, {name: %s2, hosts: 2}]\n    vms:\n", dc, v, dc, dc, dc)
			for _, c := range []string{"1", "2"} {
				fmt.Fprintf(&b, "    - {name: %s-%s%s, count: %d, cluster: %s%s}\n", v, dc, c, nodes/12, dc, c)
			}
		}
	}
	return b.String()
}

// wrong says what is wrong with an initialized Node of a machine.
func wrong(n *v1.Node, m fleet.Machine, region, zone string) string {
	want := map[string]string{
		v1.LabelTopologyRegion: region, v1.LabelFailureDomainBetaRegion: region,
		v1.LabelTopologyZone: zone, v1.LabelFailureDomainBetaZone: zone,
		v1.LabelInstanceTypeStable: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu",
	}
	for k, v := range want {
		if n.Labels[k] != v {
			return fmt.Sprintf("label %s is %q, want %q", k, n.Labels[k], v)
		}
	}
	if n.Spec.ProviderID != m.ProviderID() {
		return fmt.Sprintf("provider ID is %s, want %s", n.Spec.ProviderID, m.ProviderID())
	}
	addresses := map[v1.NodeAddressType]string{}
	for _, a := range n.Status.Addresses {
		addresses[a.Type] = a.Address
	}
	for kind, want := range map[v1.NodeAddressType]string{v1.NodeHostName: m.HostName, v1.NodeInternalIP: m.IPs[0], v1.NodeExternalIP: m.IPs[0]} {
		if addresses[kind] != want {
			return fmt.Sprintf("%s is %q, want %q", kind, addresses[kind], want)
		}
	}
	return ""
}

// initialized waits until the Nodes of the machines are initialized.
func initialized(t testing.TB, s *Stack, d *Daemon, machines []fleet.Machine) map[string]*v1.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := map[string]*v1.Node{}
	err := s.Watch(ctx, fmt.Sprintf("%d Nodes are initialized", len(machines)), func(nodes []*v1.Node) bool {
		clear(done)
		byName := map[string]*v1.Node{}
		for _, n := range nodes {
			byName[n.Name] = n
		}
		for _, m := range machines {
			if n := byName[m.Name]; n != nil && Initialized(n) && len(n.Status.Addresses) > 1 {
				done[n.Name] = n
			}
		}
		return len(done) == len(machines)
	})
	if err != nil {
		t.Fatalf("%v (%d are)\n%s", err, len(done), d.Log())
	}
	return done
}

// TestFirstLight is the main job on real parts: 60 Nodes on three vCenters.
func TestFirstLight(t *testing.T) {
	s := start(t, sixZones(60))
	machines := s.Fleet.Machines()
	if err := s.Register(t.Context(), machines...); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Fleet.VCenters() {
		v.SetDelay(5 * time.Millisecond)
	}
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config, "--v=10")
	if err != nil {
		t.Fatal(err)
	}
	nodes := initialized(t, s, d, machines)
	for _, v := range s.Fleet.VCenters() {
		t.Logf("%s was asked %d times: %v", v.Name(), v.Total(), v.Requests())
		if v.Total() > 30 {
			t.Errorf("%s was asked %d times, at most 30 are allowed", v.Name(), v.Total())
		}
	}
	moids := map[string]int{}
	for _, m := range machines {
		moids[m.MoID]++
		zone := m.VCenter + "-" + strings.TrimPrefix(strings.TrimPrefix(m.Datacenter, "/"), "dc-")
		if w := wrong(nodes[m.Name], m, m.VCenter, zone); w != "" {
			t.Errorf("Node %s: %s", m.Name, w)
		}
	}
	if len(moids) != len(machines)/3 {
		t.Errorf("%d managed object IDs for %d machines: they should repeat", len(moids), len(machines))
	}
	if err := d.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	complaints := d.LoggedErrors() // before requests end without a response
	took, err := d.Stop()
	if err != nil {
		t.Errorf("the daemon ended with %v\n%s", err, d.Log())
	}
	t.Logf("ended %v after SIGTERM", took)
	for _, v := range s.Fleet.VCenters() {
		if n := v.Sessions(); n != 0 {
			t.Errorf("%s has %d sessions left", v.Name(), n)
		}
	}
	noSecret(t, s, d)
	for _, c := range complaints {
		t.Errorf("the daemon complains though nothing is wrong: %s", c)
	}
}

// TestSickVCenter: whatever one vCenter does, the Nodes of the others are
// initialized, and its own are neither labeled nor removed.
func TestSickVCenter(t *testing.T) {
	s := start(t, sixZones(60))
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	for name, fall := range sicknesses {
		t.Run(name, func(t *testing.T) {
			d, _ := withSick(t, s, config, fall)
			nodes, err := s.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(nodes.Items) != 60 {
				t.Errorf("%d Nodes are left", len(nodes.Items))
			}
			for _, n := range nodes.Items {
				if m, _ := s.Fleet.Machine(n.Name); m.VCenter != "east" {
					continue
				}
				if Initialized(&n) || n.Labels[v1.LabelTopologyZone] != "" || n.Spec.ProviderID != "" {
					t.Errorf("Node %s of the sick vCenter was touched: %v", n.Name, n.Labels)
				}
			}
			if err := d.Healthy(t.Context()); err != nil {
				t.Errorf("the daemon is not healthy: %v", err)
			}
			if took, err := d.Stop(); err != nil || took > Slower(5*time.Second) {
				t.Errorf("the daemon ended after %v with %v", took, err)
			}
			noSecret(t, s, d)
		})
	}
}

// BenchmarkSickVCenter measures how long the Nodes of two vCenters take while
// the third is healthy, and how many times that while it is not.
//
//	go test -run '^$' -bench SickVCenter -benchtime 3x ./test/stack
func BenchmarkSickVCenter(b *testing.B) {
	s := start(b, sixZones(60))
	config, err := s.WriteConfig(labels)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d, healthy := withSick(b, s, config, func(*fleet.VCenter) {})
		if _, err := d.Stop(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(healthy.Seconds(), "s-healthy")
		for name, fall := range sicknesses {
			d, took := withSick(b, s, config, fall)
			if _, err := d.Stop(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(took.Seconds()/healthy.Seconds(), "x-"+name)
		}
	}
}

var sicknesses = map[string]func(*fleet.VCenter){
	"hang":   func(v *fleet.VCenter) { v.Hang() },
	"refuse": func(v *fleet.VCenter) { v.Refuse() },
}

// withSick registers all Nodes again, lets east fall sick, starts the daemon and
// returns how long the Nodes of the other vCenters took from then on.
func withSick(t testing.TB, s *Stack, config string, fall func(*fleet.VCenter)) (*Daemon, time.Duration) {
	t.Helper()
	east := s.Fleet.VCenter("east")
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.CoreV1().Nodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), s.Fleet.Machines()...); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Fleet.VCenters() {
		v.SetDelay(5 * time.Millisecond)
	}
	fall(east)
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	others := append(s.Fleet.VCenter("north").Machines(), s.Fleet.VCenter("west").Machines()...)
	initialized(t, s, d, others)
	return d, time.Since(d.Started)
}

// noSecret fails if the log holds a password, a session ID or the daemon's token
// in any of their usual forms.
func noSecret(t testing.TB, s *Stack, d *Daemon) {
	t.Helper()
	token, err := s.Token()
	if err != nil {
		t.Fatal(err)
	}
	var secrets Search
	secrets.Add("the token", token)
	for _, v := range s.Fleet.VCenters() {
		secrets.Add("the password of "+v.Name(), v.Password())
		for _, id := range v.SessionIDs() {
			secrets.Add("a session ID of "+v.Name(), id)
		}
	}
	for _, found := range secrets.In(d.Log()) {
		t.Errorf("the log holds %s", found)
	}
}

func TestAFailedStartSaysWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Options{Fleet: pair}); err == nil {
		t.Errorf("started with a context that is done: %v", s.Stop())
	}
	if _, err := Start(t.Context(), Options{Fleet: "vcenters: [{nam: east}]"}); err == nil || !strings.Contains(err.Error(), "nam") {
		t.Errorf("a mistaken description: %v", err)
	}
}
