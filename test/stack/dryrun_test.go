package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
	"vzones/test/cluster"
)

const rehearsed = `
vcenters:
- name: east
  tags: {region: r}
  datacenters:
  - name: dc
    clusters:
    - {name: a, tags: {zone: za}, hosts: [a-1]}
    - {name: untagged, hosts: [u-1]}
    vms: [{name: joins}, {name: lacks}, {name: differs}, {name: off}, {name: readdressed}, {name: no-zone, cluster: untagged}]
- name: west
  tags: {region: w}
  datacenters:
  - {name: dc, tags: {zone: zw}, clusters: [{name: c, hosts: 1}], vms: [{name: fine}]}
`

// rehearsedTable is what the dry run says of those Nodes.
const rehearsedTable = `
differs | annotation vzones/machine | - | MACHINE
differs | annotation vzones/vcenter | - | VCENTER
fine | annotation vzones/machine | - | MACHINE
fine | annotation vzones/vcenter | - | VCENTER
gone | Node | exists | deleted
joins | address ExternalIP | - | IP
joins | address InternalIP | - | IP
joins | annotation vzones/machine | - | MACHINE
joins | annotation vzones/vcenter | - | VCENTER
joins | label beta.kubernetes.io/instance-type | - | vsphere-vm.cpu-4.mem-8gb.os-ubuntu
joins | label failure-domain.beta.kubernetes.io/region | - | r
joins | label failure-domain.beta.kubernetes.io/zone | - | za
joins | label node.kubernetes.io/instance-type | - | vsphere-vm.cpu-4.mem-8gb.os-ubuntu
joins | label topology.kubernetes.io/region | - | r
joins | label topology.kubernetes.io/zone | - | za
joins | provider ID | - | ID
joins | taint node.cloudprovider.kubernetes.io/uninitialized | true:NoSchedule | -
lacks | annotation vzones/machine | - | MACHINE
lacks | annotation vzones/vcenter | - | VCENTER
lacks | label failure-domain.beta.kubernetes.io/zone | - | za
lacks | label topology.kubernetes.io/zone | - | za
no-zone | annotation vzones/machine | - | MACHINE
no-zone | annotation vzones/vcenter | - | VCENTER
off | annotation vzones/machine | - | MACHINE
off | annotation vzones/vcenter | - | VCENTER
off | taint node.cloudprovider.kubernetes.io/shutdown | - | NoSchedule
readdressed | address ExternalIP | 10.9.9.9 | IP
readdressed | address InternalIP | 10.9.9.9 | IP
readdressed | annotation vzones/machine | - | MACHINE
readdressed | annotation vzones/vcenter | - | VCENTER
`

// TestDryRun: the daemon writes nothing but Events of one reason, not even where a Node is to
// be deleted, and takes no Lease. What it prints is what the daemon then does.
func TestDryRun(t *testing.T) {
	options, audit := audited(t)
	s := startOwn(t, Options{Fleet: rehearsed, Cluster: options})
	config, err := s.WriteConfig("labels: {region: region, zone: zone}\ntopology: {settle: 50s}\n")
	if err != nil {
		t.Fatal(err)
	}
	s.populate(t)
	before := s.nodes(t)
	printed, err := s.DryRun(binary, config)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if diff := cmp.Diff(before, s.nodes(t)); diff != "" {
		t.Errorf("Nodes have changed (-before +after):\n%s", diff)
	}
	writesOnlyEvents(t, audit)
	if leases, err := s.Client.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=cloud-controller-manager"}); err != nil || len(leases.Items) > 0 {
		t.Errorf("the Lease: %v, %v", leases, err)
	}
	// Not a number, since a condition changes more Nodes than the table below has.
	if !regexp.MustCompile(`; complete\nNodes: 9; would change: [89]; with a problem: 3; not managed by vzones: 1\n`).MatchString(printed) {
		t.Errorf("the head is not right:\n%s", printed)
	}
	got := s.neutral(Predicted(printed))
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(rehearsedTable), "\n"), got); diff != "" {
		t.Errorf("the table (-want +got):\n%s\n%s", diff, printed)
	}
	tables := Tables(printed)
	expectRow(t, tables["PROBLEM"], "lost", "no vCenter has")
	expectRow(t, tables["PROBLEM"], "no-zone", `category "zone"`)
	expectRow(t, tables["PROBLEM"], "off", "VMware Tools")
	expectRow(t, tables["EVENT"], "Node differs", "TopologyDrift")
	s.expectEvents(t, map[string]string{
		"joins": "Would be written: address ExternalIP: - → ", "gone": "Would be deleted", "lost": "Problem: ", "no-zone": "Problem: ",
	})
	s.expectThatItHappens(t, config, before, printed)
}

// populate creates the Nodes of TestDryRun.
func (s *Stack) populate(t *testing.T) {
	t.Helper()
	create := func(n *v1.Node, change func(*v1.Node)) {
		n.Spec.Taints = nil
		change(n)
		if _, err := s.Cluster.CreateNode(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range s.Fleet.Machines() {
		spec := cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID, ProviderID: m.ProviderID()}
		if m.Name == "joins" {
			if err := s.Cluster.CreateNodes(t.Context(), []cluster.NodeSpec{{Name: m.Name, SystemUUID: m.UUID}}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		create(spec.Node(), func(n *v1.Node) {
			region, zone := map[string]string{"east": "r", "west": "w"}[m.VCenter], map[string]string{"east": "za", "west": "zw"}[m.VCenter]
			address := m.IPs[0]
			switch m.Name {
			case "lacks", "no-zone":
				zone = ""
			case "differs":
				zone = "elsewhere"
			case "readdressed":
				address = "10.9.9.9"
			}
			n.Labels[v1.LabelTopologyRegion], n.Labels[v1.LabelFailureDomainBetaRegion] = region, region
			if zone != "" {
				n.Labels[v1.LabelTopologyZone], n.Labels[v1.LabelFailureDomainBetaZone] = zone, zone
			}
			n.Labels[v1.LabelInstanceType], n.Labels[v1.LabelInstanceTypeStable] = "vsphere-vm.cpu-4.mem-8gb.os-ubuntu", "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"
			n.Status.Addresses = []v1.NodeAddress{
				{Type: v1.NodeHostName, Address: m.HostName}, {Type: v1.NodeInternalIP, Address: address}, {Type: v1.NodeExternalIP, Address: address},
			}
		})
	}
	create(deadNode("gone"), func(*v1.Node) {})
	create(cluster.NodeSpec{Name: "foreign", ProviderID: "aws:///i-1"}.Node(), func(*v1.Node) {})
	if err := s.Cluster.CreateNodes(t.Context(), []cluster.NodeSpec{{Name: "lost", SystemUUID: strings.TrimPrefix(deadID, "vsphere://")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Fleet.VCenter("east").PowerOff("off"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "off"} {
		if err := s.Cluster.SetNodeReady(t.Context(), name, v1.ConditionUnknown); err != nil {
			t.Fatal(err)
		}
	}
}

// nodes returns all Nodes as the API server has them.
func (s *Stack) nodes(t *testing.T) []*v1.Node {
	t.Helper()
	list, err := s.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*v1.Node, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all
}

// neutral returns the writes without what differs from one run of the test to the next.
func (s *Stack) neutral(writes []Write) []string {
	all := make([]string, len(writes))
	for i, w := range writes {
		m, err := s.Fleet.Machine(w.Node)
		switch {
		case err != nil:
		case w.Would == m.ProviderID():
			w.Would = "ID"
		case len(m.IPs) > 0 && w.Would == m.IPs[0]:
			w.Would = "IP"
		case w.Field == "annotation vzones/machine" && strings.HasPrefix(w.Would, m.VCenter+"/vm-"):
			w.Would = "MACHINE"
		case w.Field == "annotation vzones/vcenter" && len(w.Would) == len(m.UUID):
			w.Would = "VCENTER"
		}
		all[i] = w.String()
	}
	return all
}

// writesOnlyEvents checks that the API server was asked to write nothing but Events of a dry run,
// without dryRun=All.
func writesOnlyEvents(t *testing.T, audit string) {
	t.Helper()
	data, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	reads := []string{"get", "list", "watch"}
	events, dry := 0, 0
	for _, r := range requests(t, audit, 0) {
		is := fmt.Sprintf("%s %s", r.Verb, r.ObjectRef.Resource)
		switch asked := strings.Contains(r.RequestURI, "dryRun=All"); {
		case slices.Contains(reads, r.Verb), r.ObjectRef.APIGroup == "authorization.k8s.io":
		case asked && r.Verb != "delete":
			dry++
		case is == "create events" && r.ObjectRef.Namespace == "default" && r.allowed():
			events++
		default:
			t.Errorf("written: %s (%s)", r.String(), r.RequestURI)
		}
	}
	if events != 9 || dry < 10 {
		t.Errorf("%d Events and %d dry writes among %d bytes", events, dry, len(data))
	}
}

func expectRow(t *testing.T, rows [][]string, of, with string) {
	t.Helper()
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == of && strings.Contains(strings.Join(row[1:], " "), with) }) {
		t.Errorf("%s has no row with %q: %q", of, with, rows)
	}
}

// expectEvents checks the Events of the dry run, of which there are no others.
func (s *Stack) expectEvents(t *testing.T, beginnings map[string]string) {
	t.Helper()
	events, err := s.Client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "source=vzones"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason != "DryRun" || len(e.Message) > 400 || strings.Contains(e.Message, "\n") || e.InvolvedObject.UID == "" {
			t.Errorf("%+v", e)
		}
		if want, there := beginnings[e.InvolvedObject.Name]; there && !strings.HasPrefix(e.Message, want) {
			t.Errorf("Node %s: %q does not begin with %q", e.InvolvedObject.Name, e.Message, want)
		}
		delete(beginnings, e.InvolvedObject.Name)
	}
	if len(beginnings) > 0 {
		t.Errorf("no Events of %v", beginnings)
	}
}

// expectThatItHappens lets the daemon work, and checks that it writes what the dry run has said
// that it would, and to initialized Nodes nothing else.
func (s *Stack) expectThatItHappens(t *testing.T, config string, was []*v1.Node, printed string) {
	t.Helper()
	predicted, current := Predicted(printed), PredictedCurrent(printed)
	if !slices.Contains(current, "fine") || slices.Contains(current, "lacks") {
		t.Errorf("the condition would be right of %v", current)
	}
	d, err := s.StartDaemon(binary, config, "--node-monitor-period=1s", "--node-status-update-frequency=1s")
	if err != nil {
		t.Fatal(err)
	}
	var diff string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = s.Watch(ctx, "what was predicted has happened", func(nodes []*v1.Node) bool {
		diff = cmp.Diff(predicted, Written(was, nodes))
		return diff == "" && !slices.ContainsFunc(nodes, func(n *v1.Node) bool { return slices.Contains(current, n.Name) && !isCurrent(n) })
	})
	if err != nil {
		t.Fatalf("%v (-predicted +written):\n%s", err, diff)
	}
	if _, err := d.Stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(predicted, Written(was, s.nodes(t))); diff != "" {
		t.Errorf("(-predicted +written):\n%s", diff)
	}
}

func isCurrent(n *v1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == keys.TopologyReady && c.Status == v1.ConditionTrue && c.Reason == "TopologyCurrent"
	})
}

// TestDryRunThatCannotDecide: a vCenter that is down is named when the time is over, and so are the
// Nodes, with a status of its own. Ended before, the dry run fails.
func TestDryRunThatCannotDecide(t *testing.T) {
	s := start(t, rehearsed)
	config, err := s.WriteConfig("labels: {region: region, zone: zone}\n")
	if err != nil {
		t.Fatal(err)
	}
	s.populate(t)
	before := s.nodes(t)
	s.Fleet.VCenter("west").Refuse()
	printed, err := s.DryRun(binary, config, "--dry-run-timeout=12s")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Fatalf("%v\n%s", err, printed)
	}
	if !strings.Contains(printed, `; INCOMPLETE: not decided within 12s: vCenter "west": `) || strings.Contains(printed, `vCenter "west": vCenter "west"`) {
		t.Errorf("west is not named:\n%s", printed)
	}
	expectRow(t, Tables(printed)["PROBLEM"], "fine", `vCenter "west"`)
	d, err := s.StartDaemon(binary, config, "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(d.Log(), "This is a dry run"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(d.Log())
		}
	}
	if took, err := d.Stop(); err == nil || took > Slower(5*time.Second) {
		t.Errorf("ended after %v with %v", took, err)
	}
	if log := d.Log(); !strings.Contains(log, "the dry run was ended before everything was decided") || !strings.Contains(log, "; INCOMPLETE: it was ended before\n") {
		t.Error(log)
	}
	if diff := cmp.Diff(before, s.nodes(t)); diff != "" {
		t.Errorf("Nodes have changed (-before +after):\n%s", diff)
	}
}
