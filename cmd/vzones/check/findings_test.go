package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

func ids(found []Finding) []string {
	all := make([]string, len(found))
	for i, f := range found {
		all[i] = f.ID + " " + f.Object
	}
	return all
}

// of returns facts about the readable vCenter east, with one Node per error.
func of(errs ...error) *facts {
	east := &vcenterFacts{
		config:    &config.VCenter{Name: "east"},
		state:     &inventory.State{VCenter: "east", Snapshot: &inventory.Snapshot{VCenter: "east"}},
		preflight: &preflight{Host: "vc:443"},
		survey:    &world.Survey{VCenter: "east", About: world.About{User: "reader@local"}},
	}
	f := &facts{config: &config.Config{}, vcenters: []*vcenterFacts{east}}
	for i, err := range errs {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1)}}
		f.nodes = append(f.nodes, newNode(&world.Look{Node: n, Err: err}))
	}
	return f
}

func TestUnplaced(t *testing.T) {
	unread := inventory.State{VCenter: "west", Err: errors.New("down")}
	f := of(
		nil,
		topology.Errorf(addresses.ErrClaimed, "Node a has the address"),
		topology.Errorf(topology.ErrUnknown, "nobody knows"),
		topology.Errorf(topology.ErrAbsent, "none has it"),
		topology.Errorf(topology.ErrUnknown, "it may be there: %w", unread.CheckReachable()),
	)
	nodes := &nodeCheck{f}
	want := []string{"VZ159 Node node-2", "VZ160 Node node-3", "VZ154 Node node-4"}
	if diff := cmp.Diff(want, ids(nodes.unplaced())); diff != "" {
		t.Errorf("findings about Nodes with errors (-want +got):\n%s", diff)
	}
	f.nodes[0].Uninitialized = true
	if got := ids(nodes.unplaced()); got[0] != "VZ163 Node node-1" {
		t.Errorf("a Node that is not initialized: got the findings %q, want VZ163 about node-1 first", got)
	}
	// A finding about the unreadable vCenter covers the unknown Node.
	f.vcenters = append(f.vcenters, &vcenterFacts{config: &config.VCenter{Name: "west"}, state: &unread, preflight: &preflight{}, survey: &world.Survey{Err: unread.Err}})
	if got := ids(nodes.unplaced()); slices.Contains(got, "VZ160 Node node-3") || !slices.Contains(got, "VZ159 Node node-2") {
		t.Errorf("a vCenter is not read: got the findings %q, want VZ159 about node-2 and not VZ160 about node-3", got)
	}
	// It does not if the Node's VM is in another vCenter.
	f.nodes[2].Place.VCenter = "east"
	if got := ids(nodes.unplaced()); !slices.Contains(got, "VZ160 Node node-3") {
		t.Errorf("the VM is in a vCenter that was read: got the findings %q, want VZ160 about node-3", got)
	}
}

// The out-of-service taint of vzones is a finding, with its time and what the Node waits for.
func TestOutOfService(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	volumes := []v1.AttachedVolume{{Name: "a"}}
	absent := topology.Errorf(topology.ErrAbsent, "no VM")
	for name, c := range map[string]struct {
		value string
		err   error
		ready v1.ConditionStatus
		says  string
	}{
		"volumes":          {value: nodeinfo.VMGone, err: absent, ready: v1.ConditionUnknown, says: "2026-11-29T12:00:00Z: the Node is deleted once its volumes are detached (attached: 1)"},
		"the VM exists":    {value: nodeinfo.VMGone, ready: v1.ConditionUnknown, says: "removes it"},
		"ready":            {value: nodeinfo.VMGone, err: absent, ready: v1.ConditionTrue, says: "removes it"},
		"not ready":        {value: nodeinfo.VMGone, err: absent, ready: v1.ConditionFalse, says: "removes it"},
		"another client's": {value: "nodeshutdown", err: absent, ready: v1.ConditionUnknown},
	} {
		f := of(c.err)
		n := f.nodes[0].Node
		n.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeOutOfService, Value: c.value, Effect: v1.TaintEffectNoExecute, TimeAdded: &since}}
		n.Status = v1.NodeStatus{VolumesAttached: volumes, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: c.ready}}}
		found := (&nodeCheck{f}).outOfService()
		if c.says == "" && len(found) > 0 || c.says != "" && (len(found) != 1 || found[0].ID != "VZ169" || !strings.Contains(found[0].Text, c.says)) {
			t.Errorf("%s: got the findings %+v, want VZ169 with %q", name, found, c.says)
		}
	}
}

// A Node may be deleted by hand only if it is not ready and vzones does not delete it.
func TestDeletionIsAdvised(t *testing.T) {
	ready := v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}
	for name, c := range map[string]struct {
		id           string
		status       v1.NodeStatus
		wasFound     bool
		err          error
		skipDeletion bool
		command      string
	}{
		"no VM, not ready, never found":          {id: "VZ154", command: "kubectl delete node node-1"},
		"no VM, not ready, found before":         {id: "VZ154", wasFound: true},
		"no VM, not ready, deletion is disabled": {id: "VZ154", wasFound: true, skipDeletion: true, command: "kubectl delete node node-1"},
		"no VM, ready":                           {id: "VZ154", status: ready},
		"no VM, ready, deletion is disabled":     {id: "VZ154", status: ready, skipDeletion: true},
		"a VM that is off, not ready":            {id: "VZ154", err: inventory.ErrPoweredOff},
		"a hidden VM, not ready":                 {id: "VZ154", wasFound: true, err: inventory.ErrNotShown},
		"another VM, not ready":                  {id: "VZ151", command: "kubectl delete node node-1"},
		"another VM, ready":                      {id: "VZ151", status: ready, command: "kubectl drain --ignore-daemonsets node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err == nil {
				err = topology.Errorf(topology.ErrAbsent, "no VM")
			}
			f := of(err)
			f.config.SkipNodeDeletion = c.skipDeletion
			n := f.nodes[0]
			n.Node.Spec.ProviderID = "vsphere://42000000-0000-4000-8000-000000000001"
			n.Node.Status = c.status
			n.Place.WasFound = c.wasFound
			found := (&nodeCheck{f}).unplacedNode(n, c.id)
			if found.Command != c.command {
				t.Errorf("got the command %q, want %q", found.Command, c.command)
			}
			if found.Command == "" && found.Advice == "" && c.err == nil {
				t.Error("got neither a command nor advice")
			}
		})
	}
}

// System folders are reported only if the place of a VM below is unknown.
func TestUnread(t *testing.T) {
	f := of()
	object := func(of, id, path string, parent *world.Object) *world.Object {
		o := &world.Object{Object: &topology.Object{Ref: topology.Ref{VCenter: "east", Type: of, ID: id}, Path: path, TagsErr: topology.ErrNotPermitted}, Parent: parent}
		s := f.vcenters[0].survey
		s.Objects = append(s.Objects, o)
		return o
	}
	root := object("Folder", "group-d1", "/", nil)
	cluster := object("ClusterComputeResource", "domain-c1", "/it's one", root)
	account := &accountCheck{vcenterFacts: f.vcenters[0]}
	found := account.unread()
	if diff := cmp.Diff([]string{"VZ119 cluster /it's one"}, ids(found)); diff != "" {
		t.Fatalf("findings about objects whose tags may not be read (-want +got):\n%s", diff)
	}
	if got, want := found[0].Command, `govc permissions.set -principal reader@local -role ReadOnly -propagate=false '/it'\''s one'`; got != want {
		t.Errorf("got the command %s, want %s", got, want)
	}
	unknown := world.HostPlace{Host: cluster.Object, Up: cluster.Up(), Placement: topology.Placement{Undecided: []topology.Undecided{{Err: topology.ErrUnknown}}}}
	account.hosts = []world.HostPlace{unknown}
	if got := ids(account.unread()); len(got) != 2 {
		t.Errorf("the place of a host is unknown: got the findings %q, want one about the root folder too", got)
	}
}

func TestWhyUnread(t *testing.T) {
	east := of().vcenters[0]
	east.state.Snapshot = nil
	way := &connectionCheck{vcenterFacts: east}
	slow := fmt.Errorf(`vCenter "east": no answer: %w`, context.DeadlineExceeded)
	for err, want := range map[error]string{
		&world.LateError{VCenter: "east", Within: time.Minute}: "VZ109", &vcenter.SlowLoginError{}: "VZ109", slow: "VZ109",
		errors.New("EOF"): "VZ108",
	} {
		east.state.Err = err
		if id, _ := way.whyUnread(); id != want {
			t.Errorf("no step fails, and reading ends with %v: got %s, want %s", err, id, want)
		}
	}
	east.preflight.Failed = stepAnswer
	east.preflight.Err = topology.Errorf(context.DeadlineExceeded, "no answer within 20s")
	if id, text := way.whyUnread(); id != "VZ109" {
		t.Errorf("a vCenter that hangs: got %s with the text %q, want VZ109", id, text)
	}
	for step, want := range map[preflightStep]string{
		stepResolve: "VZ101", stepProxy: "VZ103", stepConnect: "VZ102",
		stepTLS: "VZ104", stepTrust: "VZ105", stepAnswer: "VZ108",
	} {
		east.preflight.Failed = step
		east.preflight.Err = errors.New("it failed")
		for _, err := range []error{slow, errors.New(`vCenter "east": dial tcp`)} {
			east.state.Err = err
			if id, text := way.whyUnread(); id != want || !strings.HasPrefix(text, "it failed") {
				t.Errorf("step %q fails, and reading ends with %v: got %s with the text %q, want %s with the error of the step", step, err, id, text, want)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	for want, words := range map[string][]string{
		"govc find /":                 {"govc", "find", "/"},
		`govc '/dc1/a b'`:             {"govc", "/dc1/a b"},
		`govc '$(reboot)' '; reboot'`: {"govc", "$(reboot)", "; reboot"},
		`govc 'it'\''s'`:              {"govc", "it's"},
	} {
		if got := cli.Shell(words...); got != want {
			t.Errorf("the words %q: got the command %q, want %q", words, got, want)
		}
	}
	for _, odd := range []string{"", "-x", "--x", "a\nb", "a\x1b[31m", "a\u202eb"} {
		if got := cli.Shell("govc", odd); got != "" {
			t.Errorf("the word %q: got the command %q, want none", odd, got)
		}
	}
}

func TestByName(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"neither":       {func(*facts) {}, "[VZ162 Node node-1]"},
		"a provider ID": {func(f *facts) { f.nodes[0].Node.Spec.ProviderID = "vsphere://42000000-0000-4000-8000-000000000001" }, "[]"},
		"initialized":   {func(f *facts) { f.nodes[0].Uninitialized = false }, "[]"},
		"a UUID":        {func(f *facts) { f.nodes[0].Node.Status.NodeInfo.SystemUUID = "42000000-0000-4000-8000-000000000001" }, "[]"},
		"not by name":   {func(f *facts) { f.config.MatchByName = false }, "[]"},
	} {
		f := of(nil)
		f.config.MatchByName = true
		f.nodes[0].Uninitialized = true
		c.change(f)
		nodes := &nodeCheck{f}
		if got := fmt.Sprint(ids(nodes.matchedByName())); got != c.want {
			t.Errorf("%s: got the findings %s, want %s", name, got, c.want)
		}
	}
}
