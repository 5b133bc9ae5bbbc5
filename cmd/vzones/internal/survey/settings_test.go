package survey_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/cmd/vzones/internal/survey"
)

const settings = `
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
      hosts: [{name: h1, tags: {zone: a}}, {name: h2, tags: {zone: b}, maintenance: true}]
      rules:
      - {name: apart, vms: [n1, n2]}
      - {name: near, kind: together, vms: [n1, n2], disabled: true}
      - {name: at home, kind: hosts, vms: n1, hosts: [h1], mandatory: true}
      - {name: away, kind: hosts, vms: n2, hosts: [h1], away: true}
    - {name: c2, drs: false, ha: false, hosts: 1}
    vms:
    - {name: n1, cluster: c1, enableUUID: true}
    - {name: n2, cluster: c1, extraConfig: {disk.EnableUUID: "TRUE"}}
    - {name: n3, cluster: c2}
    - {name: n4, cluster: c2, unreadable: true}
`

func TestSurveySettings(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settings)
	east := w.sim.VCenter("east")
	east.SkewClock(-time.Minute)
	if err := east.StopTools("n2"); err != nil {
		t.Fatal(err)
	}
	q := everything
	q.Folder = "/dc1/vm"
	s := w.read(q)[0]
	if errs := errorsOf(&s); len(errs) > 0 {
		t.Fatal(errs)
	}
	n1, n2, h1 := w.moid("n1"), w.moid("n2"), id(t, w, "h1")
	want := []survey.Rule{
		{Name: "apart", Enabled: true, Kind: survey.Separate, Machines: []string{n1, n2}},
		{Name: "near", Kind: survey.Together, Machines: []string{n1, n2}},
		{Name: "at home", Enabled: true, Mandatory: true, Kind: survey.Hosts, Machines: []string{n1}, Hosts: []string{h1}},
		{Name: "away", Enabled: true, Kind: survey.Hosts, Machines: []string{n2}, Hosts: []string{h1}, Away: true},
	}
	c1, c2 := s.Clusters[id(t, w, "c1")], s.Clusters[id(t, w, "c2")]
	if !c1.DRS || !c1.HA || c1.Err != nil || !reflect.DeepEqual(c1.Rules, want) || c2.DRS || c2.HA || len(c2.Rules) > 0 || len(s.Clusters) != 2 {
		t.Errorf("%+v\n%+v", c1, c2)
	}
	var machines []string
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		m := s.Machines[w.moid(name)]
		disk := "unknown"
		if m.DiskUUID != nil {
			disk = fmt.Sprint(*m.DiskUUID)
		}
		machines = append(machines, strings.Join([]string{m.Name, disk, m.Tools}, " "))
	}
	if got, want := machines, []string{"n1 true guestToolsRunning", "n2 true guestToolsNotRunning", "n3 false guestToolsRunning", "n4 unknown guestToolsRunning"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if want := []survey.Category{{Name: "region", Multiple: true, Tags: []string{"east"}}, {Name: "zone", Types: []string{"HostSystem", "ClusterComputeResource"}, Tags: []string{"a", "b"}}}; len(s.Categories) != 2 || fmt.Sprint(s.Categories) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", s.Categories, want)
	}
	for _, o := range s.Objects {
		if o.InMaintenance != (o.Name == "h2") {
			t.Errorf("%s is in maintenance: %t", o.Path, o.InMaintenance)
		}
	}
	if s.About.APIVersion != "8.0.3" || s.Skew > -50*time.Second || s.Skew < -70*time.Second || len(s.Denied) > 0 {
		t.Errorf("%+v, %v, %v", s.About, s.Skew, s.Denied)
	}
	if err := east.EnableUUID("n3", true); err != nil {
		t.Fatal(err)
	}
	n3 := w.moid("n3")
	if s := w.read(survey.Query{Machines: map[string][]string{"east": {n3}}})[0]; !*s.Machines[n3].DiskUUID {
		t.Error("disk.enableUUID of n3 is off")
	}
	tidy(w)
}

func id(t *testing.T, w *world, object string) string {
	t.Helper()
	value, err := w.sim.VCenters()[0].ID(object)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestSurveyWithoutRights: each object says what is not known of it, and which privilege it wants.
func TestSurveyWithoutRights(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settings)
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
	q.Machines = map[string][]string{"east": {w.moid("n1")}}
	s := w.read(q)[0]
	if errs := errorsOf(&s); !slices.Equal(errs, []string{"tags"}) {
		t.Fatal(errs)
	}
	var denied, unread []string
	for _, d := range s.Denied {
		denied = append(denied, fmt.Sprint(d.Privilege, " on ", d.Object.Path, " for ", d.For, ", needed ", d.Needed, ", system ", d.System))
	}
	want := `System.Read on / for reading tags, needed false, system true
System.Read on /dc1/host/c1 for reading tags, needed false, system false
System.Read on /dc1/host/c1/h1 for reading tags, needed false, system false
System.Read on /dc1/vm/n1 for reading the machines of Nodes, needed true, system false`
	if got := strings.Join(denied, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, o := range s.Objects {
		if o.TagsErr != nil || o.StateErr != nil {
			unread = append(unread, o.Path)
		}
		if o.Name == "c2" {
			t.Error("a cluster that is hidden is seen")
		}
	}
	if got := strings.Join(unread, " "); got != "/ /dc1/host/c1 /dc1/host/c1/h1" {
		t.Errorf("not read are %s", got)
	}
	if c1 := s.Clusters[id(t, w, "c1")]; c1.Err == nil {
		t.Errorf("%+v", c1)
	}
	n1 := s.Machines[w.moid("n1")]
	if n1.Path != "/dc1/vm/n1" || n1.UUID != "" || n1.DiskUUID != nil || n1.Tools != "" || n1.Host != "" {
		t.Errorf("%+v", n1)
	}
	tidy(w)
}

// TestSurveyCost: the number of requests does not depend on that of hosts and machines.
func TestSurveyCost(t *testing.T) {
	t.Parallel()
	cost := func(hosts, machines int) int {
		w := surveyed(t, fmt.Sprintf(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: %d}]
    vms: [{name: n, count: %d}]
`, hosts, machines))
		v := w.sim.VCenter("east")
		q := everything
		q.Machines = map[string][]string{}
		for _, m := range v.Machines() {
			q.Machines["east"] = append(q.Machines["east"], m.MoID)
		}
		v.ResetRequests()
		s := w.read(q)[0]
		if errs := errorsOf(&s); len(errs) > 0 || len(s.Machines) != machines {
			t.Errorf("%v, %d machines", errs, len(s.Machines))
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

// TestSurveyCanceled logs out all the same.
func TestSurveyCanceled(t *testing.T) {
	t.Parallel()
	w := surveyed(t, settings)
	east := w.sim.VCenter("east")
	east.DelayMethod("GET /com/vmware/cis/tagging/tag/id:{id}", 3*time.Second)
	ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
	defer cancel()
	s := survey.Read(ctx, w.fleet.Sessions(), needs, everything)[0]
	if errs := errorsOf(&s); len(errs) == 0 {
		t.Error("no error")
	}
	if n := east.RESTSessions(); n > 1 {
		t.Errorf("%d sessions of the REST API", n)
	}
	tidy(w)
}
