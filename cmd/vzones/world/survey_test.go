package world

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"
	"k8s.io/klog/v2/ktesting"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func TestSurveyObjects(t *testing.T) {
	t.Parallel()
	w := surveyed(t, twoVCenters)
	all := w.read(SurveyQuery{Categories: []string{"region", "zone"}})
	if len(all) != 2 || all[0].VCenter != "east" || all[1].VCenter != "west" {
		t.Fatalf("got the surveys %+v, want those of east and west", all)
	}
	var lines []string
	for _, o := range all[0].Objects {
		line := o.Path
		for _, tag := range o.Tags {
			line += " " + tag.Category + "=" + tag.Name
		}
		if o.TagsErr != nil || o.Broken != nil {
			t.Errorf("%s: got the errors %v of its tags and %v of its parent, want none", o.Path, o.TagsErr, o.Broken)
		}
		lines = append(lines, line)
	}
	want := `/
/dc2 region=east
/dc2/host
/dc2/host/c3 zone=c
/dc2/host/c3/c3-host-1
/prod
/prod/dc1 region=east
/prod/dc1/host
/prod/dc1/host/c1 zone=a
/prod/dc1/host/c1/c1-host-1
/prod/dc1/host/c1/c1-host-2
/prod/dc1/host/c2 zone=b
/prod/dc1/host/c2/c2-host-1`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("objects (-want +got):\n%s", cmp.Diff(want, got))
	}
	last := all[0].Objects[len(all[0].Objects)-1]
	p, err := topology.Resolve(policy, []topology.Path{last.Up()})
	if err != nil || p.Value(topology.LabelZone) != "b" || p.Value(topology.LabelRegion) != "east" {
		t.Errorf("got the placement %v and the error %v, want zone b of region east", p, err)
	}
	if a := all[0].About; a.User == "" || a.APIVersion == "" {
		t.Errorf("got %+v, want a user and an API version", a)
	}
	tidy(w)
}

// tidy checks that a survey has left nothing in a vCenter.
func tidy(w *surveyedFleet) {
	w.Helper()
	for _, v := range w.sim.VCenters() {
		if soap, rest := v.SOAPSessions(), v.RESTSessions(); soap != 1 || rest > 1 {
			w.Errorf("vCenter %s has %d sessions, and %d of the REST API", v.Name(), soap, rest)
		}
	}
	w.stop()
	for _, v := range w.sim.VCenters() {
		if n := v.Sessions(); n != 0 {
			w.Errorf("vCenter %s has %d sessions at the end", v.Name(), n)
		}
	}
}

var everything = SurveyQuery{Categories: []string{"region", "zone"}, Definitions: true}

// A failed part has an error, and the other parts are complete.
func TestSurveyWithFaults(t *testing.T) {
	t.Parallel()
	w := surveyed(t, twoVCenters)
	east := w.sim.VCenter("east")
	whole := w.read(everything)[0]
	if errs := errorsOf(&whole); len(errs) > 0 {
		t.Fatal(errs)
	}
	for method, want := range map[string]string{
		"CreateContainerView": "objects", "RetrievePropertiesEx": "objects", "DestroyView": "",
	} {
		east.Fault(method, &types.NoPermission{PrivilegeId: "System.View"})
		s := w.read(everything)[0]
		if errs := errorsOf(&s); !strings.HasPrefix(strings.Join(errs, " "), want) || (want == "") != (len(errs) == 0) {
			t.Errorf("without %s: %q, want %s", method, errs, want)
		}
		east.Fault(method, nil)
	}
	const all = "tags categories"
	for _, c := range []struct{ kind, want string }{ // A failed login prevents later logins.
		{getTag, "tags"}, {"*", all}, {"POST /com/vmware/cis/session", all}, {"GET /com/vmware/cis/tagging/category/id:{id}", all},
	} {
		for _, status := range []int{503, 404} { // vAPI returns both while it starts.
			east.FaultREST(c.kind, status)
			s := w.read(everything)[0]
			if errs := strings.Join(errorsOf(&s), " "); errs != c.want {
				t.Errorf("%d from %s: %q, want %q", status, c.kind, errs, c.want)
			}
			east.FaultREST(c.kind, 0)
		}
	}
	east.Refuse()
	s := w.read(everything)
	if errs := errorsOf(&s[0]); len(errs) == 0 && s[0].Err == nil {
		t.Error("no error of a vCenter that is down")
	}
	if errs := errorsOf(&s[1]); len(errs) > 0 {
		t.Errorf("the other vCenter: %v", errs)
	}
}

// Several pages give the same result as one, even if further pages fail.
func TestSurveyInPages(t *testing.T) {
	t.Parallel()
	w := surveyed(t, twoVCenters)
	east := w.sim.VCenter("east")
	whole := len(w.read(everything)[0].Objects)
	east.LimitPages(2)
	for range 2 {
		s := w.read(everything)[0]
		if errs := errorsOf(&s); len(errs) > 0 || len(s.Objects) != whole {
			t.Errorf("in pages: got the errors %v and %d objects, want none and %d", errs, len(s.Objects), whole)
		}
		east.Fault("ContinueRetrievePropertiesEx", &types.NoPermission{PrivilegeId: "System.Read"})
	}
	tidy(w)
}

// A vCenter whose responses make libraries panic gets an error.
func TestSurveyOfOddAnswers(t *testing.T) {
	t.Parallel()
	w := surveyed(t, twoVCenters)
	east := w.sim.VCenter("east")
	for _, method := range []string{"CreateContainerView", "RetrievePropertiesEx"} {
		for _, odd := range []string{fleet.OddEmpty, fleet.OddGarbage} {
			if err := east.AnswerOddly(method, odd); err != nil {
				t.Fatal(err)
			}
			all := w.read(everything)
			if errs := errorsOf(&all[0]); len(errs) == 0 {
				t.Errorf("%s answered with %s: no error", method, odd)
			}
			if errs := errorsOf(&all[1]); len(errs) > 0 {
				t.Errorf("%s answered with %s: %v of the other vCenter", method, odd, errs)
			}
			if err := east.Recover(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// errorsOf returns the names of the parts with an error.
func errorsOf(s *Survey) (parts []string) {
	untagged := false
	for _, o := range s.Objects {
		untagged = untagged || o.TagsErr != nil
	}
	for _, p := range []struct {
		name string
		has  bool
	}{
		{"vCenter", s.Err != nil}, {"objects", s.ObjectsErr != nil}, {"tags", untagged || s.TagsErr != nil}, {"categories", s.CategoriesErr != nil}, {"vms", s.VMsErr != nil},
	} {
		if p.has {
			parts = append(parts, p.name)
		}
	}
	return parts
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const getTag = "GET /com/vmware/cis/tagging/tag/id:{id}"

var policy = topology.Policy{Rules: topology.Rules{
	{Label: topology.LabelRegion, Category: "region", Required: true},
	{Label: topology.LabelZone, Category: "zone", Required: true},
}}

var needs = vcenter.Requirements{Tags: true, Categories: []string{"region", "zone"}}

const twoVCenters = vcentertest.TwoVCenters

// surveyedFleet is a simulated fleet with a Fleet that reads it.
type surveyedFleet struct {
	*testing.T
	ctx   context.Context
	sim   *fleet.Fleet
	fleet *vcenter.Fleet
	stop  func()
}

// surveyed returns after all vCenters are read.
func surveyed(t *testing.T, description string) *surveyedFleet {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	sim, cfgs := vcentertest.Simulate(t, description)
	w := &surveyedFleet{T: t, ctx: ctx, sim: sim}
	w.fleet = vcenter.NewFleet(cfgs, vcenter.FromFile, vcenter.Options{
		Requirements: needs, TagRefresh: time.Hour, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		Timeout: 20 * time.Second, // Hundreds of VMs on a busy host need this long.
	})
	changed, ended := w.fleet.Subscribe(), make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.fleet.Run(ctx)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	limit := time.After(3 * time.Minute)
	for slices.ContainsFunc(w.fleet.States(), func(s inventory.State) bool { return s.Snapshot == nil }) {
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("not read: %+v", w.fleet.States())
		}
	}
	return w
}

func (w *surveyedFleet) read(q SurveyQuery) []Survey {
	return readSurveys(w.ctx, w.fleet.Sessions(), needs, q)
}

func (w *surveyedFleet) moid(vm string) string {
	w.Helper()
	m, err := w.sim.VM(vm)
	if err != nil {
		w.Fatal(err)
	}
	return m.MoID
}
