package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/addresses"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// ids returns the IDs and objects of findings.
func ids(found []Finding) []string {
	all := make([]string, len(found))
	for i, f := range found {
		all[i] = f.ID + " " + f.Object
	}
	return all
}

// of returns facts about vCenter east, which was read, with Nodes in the state of these errors.
func of(errs ...error) *facts {
	f := &facts{
		config:  &config.Config{VCenters: []config.VCenter{{Name: "east"}}},
		states:  []inventory.State{{VCenter: "east", Snapshot: &inventory.Snapshot{VCenter: "east"}}},
		health:  make([]vcenter.Health, 1),
		reports: []preflight{{Host: "vc:443"}},
		surveys: []world.Survey{{VCenter: "east", About: world.About{User: "reader@local"}}},
	}
	for i, err := range errs {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1)}}
		f.nodes = append(f.nodes, newNode(&world.Look{Node: n, Err: err}))
	}
	return f
}

// TestUnplaced: what is wrong with a Node is found, unless it waits for a vCenter.
func TestUnplaced(t *testing.T) {
	unread := inventory.State{VCenter: "west", Err: errors.New("down")}
	f := of(
		nil,
		topology.Errorf(addresses.ErrClaimed, "Node a has the address"),
		topology.Errorf(topology.ErrUnknown, "nobody knows"),
		topology.Errorf(topology.ErrAbsent, "none has it"),
		topology.Errorf(topology.ErrUnknown, "it may be there: %w", unread.CheckReachable()),
	)
	if got, want := ids(f.unplaced()), []string{"VZ159 Node node-2", "VZ160 Node node-3", "VZ154 Node node-4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.nodes[0].Waits = true
	if got := ids(f.unplaced()); got[0] != "VZ163 Node node-1" {
		t.Errorf("a Node that nobody initializes: %q", got)
	}
	// What is unknown while a vCenter cannot be read is found there.
	f.states = append(f.states, unread)
	if got := ids(f.unplaced()); slices.Contains(got, "VZ160 Node node-3") || !slices.Contains(got, "VZ159 Node node-2") {
		t.Errorf("%q", got)
	}
	// That is not so if its machine is in another one.
	f.nodes[2].Place.VCenter = "east"
	if got := ids(f.unplaced()); !slices.Contains(got, "VZ160 Node node-3") {
		t.Errorf("%q", got)
	}
}

// TestUnread: an object whose tags may not be read is found, but for a folder that vSphere makes unless a place
// below it is not known.
func TestUnread(t *testing.T) {
	f := of()
	object := func(of, id, path string, parent *world.Object) *world.Object {
		o := &world.Object{Object: &topology.Object{Ref: topology.Ref{VCenter: "east", Type: of, ID: id}, Path: path, TagsErr: topology.ErrNotPermitted}, Parent: parent}
		f.surveys[0].Objects = append(f.surveys[0].Objects, o)
		return o
	}
	root := object("Folder", "group-d1", "/", nil)
	cluster := object("ClusterComputeResource", "domain-c1", "/it's one", root)
	if got, want := ids(f.unread(0, nil)), []string{"VZ119 cluster /it's one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := f.unread(0, nil)[0].Command, `govc permissions.set -principal reader@local -role ReadOnly -propagate=false '/it'\''s one'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	unknown := world.HostPlace{Host: cluster.Object, Up: cluster.Up(), Placement: topology.Placement{Undecided: []topology.Undecided{{Err: topology.ErrUnknown}}}}
	if got := ids(f.unread(0, []world.HostPlace{unknown})); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestWhyUnread: the way to a vCenter is what fails first. One that answers was too slow, or is not a vCenter.
func TestWhyUnread(t *testing.T) {
	f := of()
	f.states[0].Snapshot = nil
	slow := fmt.Errorf(`vCenter "east": no answer: %w`, context.DeadlineExceeded)
	for err, want := range map[error]string{
		&world.LateError{VCenter: "east", Within: time.Minute}: "VZ109", &vcenter.SlowLoginError{}: "VZ109", slow: "VZ109",
		errors.New("EOF"): "VZ108",
	} {
		f.states[0].Err = err
		if kind, _ := f.whyUnread(0); kind != want {
			t.Errorf("%v: %s, want %s", err, kind, want)
		}
	}
	for step, want := range map[preflightStep]string{
		stepResolve: "VZ101", stepProxy: "VZ103", stepConnect: "VZ102",
		stepTLS: "VZ104", stepTrust: "VZ105", stepAnswer: "VZ108",
	} {
		f.reports[0].Failed, f.reports[0].Err = step, errors.New("it failed")
		for _, err := range []error{slow, errors.New(`vCenter "east": dial tcp`)} {
			f.states[0].Err = err
			if kind, text := f.whyUnread(0); kind != want || !strings.HasPrefix(text, "it failed") {
				t.Errorf("%s: %s: %s", step, kind, text)
			}
		}
	}
}

// TestCommandLine: a command that is printed is the one that is meant.
func TestCommandLine(t *testing.T) {
	for want, words := range map[string][]string{
		"govc find /":                 {"govc", "find", "/"},
		`govc '/dc1/a b'`:             {"govc", "/dc1/a b"},
		`govc '$(reboot)' '; reboot'`: {"govc", "$(reboot)", "; reboot"},
		`govc 'it'\''s'`:              {"govc", "it's"},
	} {
		if got := cli.Shell(words...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, odd := range []string{"", "-x", "--x", "a\nb", "a\x1b[31m", "a\u202eb"} {
		if got := cli.Shell("govc", odd); got != "" {
			t.Errorf("%q for %q", got, odd)
		}
	}
}

// TestByName: a Node without a UUID is found where names decide, whatever the Node says beside it.
func TestByName(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"neither":       {func(*facts) {}, "[VZ162 Node node-1]"},
		"a provider ID": {func(f *facts) { f.nodes[0].Node.Spec.ProviderID = "vsphere://42000000-0000-4000-8000-000000000001" }, "[VZ162 Node node-1]"},
		"a UUID":        {func(f *facts) { f.nodes[0].Node.Status.NodeInfo.SystemUUID = "42000000-0000-4000-8000-000000000001" }, "[]"},
		"not by name":   {func(f *facts) { f.config.MatchByName = false }, "[]"},
	} {
		f := of(nil)
		f.config.MatchByName = true
		c.change(f)
		if got := fmt.Sprint(ids(f.byName())); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
