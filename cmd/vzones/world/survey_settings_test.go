package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/tags"
)

const settingsFleet = `
vcenters:
- name: east
  version: 8.0.3
  categories:
  - {name: zone, single: true, types: [HostSystem, ClusterComputeResource]}
  tags: {region: east}
  datacenters:
  - name: dc1
    clusters:
    - name: c1
      hosts: [{name: h1, tags: {zone: a}}, {name: h2, tags: {zone: b}}]
    - {name: c2, hosts: 1}
    vms:
    - {name: n1, cluster: c1, enableUUID: true}
    - {name: n2, cluster: c1, extraConfig: {disk.EnableUUID: "TRUE"}}
    - {name: n3, cluster: c2}
    - {name: n4, cluster: c2, unreadable: true}
`

func TestSurveySettings(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settingsFleet)
	east := w.sim.VCenter("east")
	if err := east.StopTools("n2"); err != nil {
		t.Fatal(err)
	}
	q := everything
	var ids []string
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		ids = append(ids, w.moid(name))
	}
	q.VMs = map[string][]string{"east": ids}
	s := w.read(q)[0]
	if errs := errorsOf(&s); len(errs) > 0 {
		t.Fatal(errs)
	}
	want := map[string]VMSettings{ids[0]: {}, ids[1]: {LacksTools: true}, ids[2]: {LacksDiskUUID: true}, ids[3]: {}}
	if diff := cmp.Diff(want, s.VMs); diff != "" {
		t.Errorf("settings of VMs (-want +got):\n%s", diff)
	}
	categories := []Category{{Name: "region", Multiple: true}, {Name: "zone", Types: []string{"HostSystem", "ClusterComputeResource"}}}
	if diff := cmp.Diff(categories, s.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if s.About.APIVersion != "8.0.3" {
		t.Errorf("got %+v, want API version 8.0.3", s.About)
	}
	if err := east.EnableUUID("n3", true); err != nil {
		t.Fatal(err)
	}
	if s := w.read(SurveyQuery{VMs: map[string][]string{"east": ids}})[0]; s.VMs[ids[2]].LacksDiskUUID {
		t.Error("disk.enableUUID of n3 is off")
	}
	tidy(w)
}

func TestSurveyWithMissingPermissions(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settingsFleet)
	east := w.sim.VCenter("east")
	for _, object := range []string{"c1", "h1", "n1", "/"} {
		if err := east.DenyRead(object); err != nil {
			t.Fatal(err)
		}
	}
	if err := east.Hide("c2"); err != nil {
		t.Fatal(err)
	}
	q := everything
	q.VMs = map[string][]string{"east": {w.moid("n1")}}
	s := w.read(q)[0]
	if errs := errorsOf(&s); !slices.Equal(errs, []string{"tags"}) {
		t.Fatal(errs)
	}
	var unread []string
	for _, o := range s.Objects {
		if errors.Is(o.TagsErr, topology.ErrNotPermitted) {
			unread = append(unread, o.Path)
		}
		if o.Name == "c2" {
			t.Error("a cluster that is hidden is seen")
		}
	}
	if got := strings.Join(unread, " "); got != "/ /dc1/host/c1 /dc1/host/c1/h1" {
		t.Errorf("not read are %s", got)
	}
	if len(s.VMs) != 1 || s.VMs[w.moid("n1")] != (VMSettings{}) {
		t.Errorf("got the settings %+v, want none of n1, which the account may not read", s.VMs)
	}
	tidy(w)
}

// The tagging service returns 403 both without a privilege and for unknown objects.
func TestSurveyOfObjectsThatTheTaggingServiceRejects(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settingsFleet)
	east := w.sim.VCenter("east")
	if err := errors.Join(east.DenyRead("c1"), east.ForgetObject("c2", fleet.DeletedForbidden)); err != nil {
		t.Fatal(err)
	}
	const openREST = "POST /com/vmware/cis/session"
	east.SlowLogin(time.Minute)
	before := east.Requests()[openREST]
	removed := make(chan error, 1)
	// Removes the host after the inventory is read and before its tags are.
	go func() {
		err := wait.PollUntilContextCancel(t.Context(), time.Millisecond, true, func(context.Context) (bool, error) { return east.Requests()[openREST] > before, nil })
		removed <- errors.Join(err, east.RemoveHost("h2"))
		east.SlowLogin(0)
	}()
	s := w.read(everything)[0]
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	if errs := errorsOf(&s); !slices.Equal(errs, []string{"tags"}) {
		t.Error(errs)
	}
	got := map[string]error{}
	for _, o := range s.Objects {
		if o.TagsErr != nil || o.Name == "h2" {
			got[o.Name] = o.TagsErr
		}
	}
	if len(got) != 2 || !errors.Is(got["c1"], topology.ErrNotPermitted) || !errors.Is(got["c2"], tags.ErrDeleted) {
		t.Errorf("got the errors %v of objects, want one of the privilege on c1, and that c2 is not known", got)
	}
	tidy(w)
}

// The number of requests does not depend on the number of hosts and VMs.
func TestSurveyCost(t *testing.T) {
	t.Parallel()
	cost := func(hosts, vms int) int {
		w := surveyed(t, fmt.Sprintf(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: %d}]
    vms: [{name: n, count: %d}]
`, hosts, vms))
		v := w.sim.VCenter("east")
		q := everything
		q.VMs = map[string][]string{}
		for _, m := range v.VMs() {
			q.VMs["east"] = append(q.VMs["east"], m.MoID)
		}
		v.ResetRequests()
		s := w.read(q)[0]
		if errs := errorsOf(&s); len(errs) > 0 || len(s.VMs) != vms {
			t.Errorf("%v, %d VMs", errs, len(s.VMs))
		}
		n := v.Total() - v.Requests()["WaitForUpdatesEx"]
		t.Logf("%d requests: %v", n, v.Requests())
		w.stop()
		return n
	}
	few, many := cost(2, 3), cost(100, 400)
	if few > 22 || many != few {
		t.Errorf("%d requests of a small vCenter, %d of a larger one", few, many)
	}
}

// A canceled survey logs out.
func TestSurveyCanceled(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settingsFleet)
	east := w.sim.VCenter("east")
	east.DelayMethod("GET /com/vmware/cis/tagging/tag/id:{id}", 3*time.Second)
	ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
	defer cancel()
	s := readSurveys(ctx, w.fleet.Sessions(), needs, everything)[0]
	if errs := errorsOf(&s); len(errs) == 0 {
		t.Error("no error")
	}
	if n := east.RESTSessions(); n > 1 {
		t.Errorf("%d sessions of the REST API", n)
	}
	tidy(w)
}
