package tags_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/vcentertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const twoClusters = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters:
    - {name: c1, tags: {zone: a}, hosts: 1}
    - {name: c2, tags: {zone: b}, hosts: 1}
    vms: [{name: n1, cluster: c1}]
`

const refresh = 20 * time.Millisecond

// simulated is a reader of a simulated vCenter with its log.
type simulated struct {
	*testing.T
	ctx     context.Context
	cfg     *config.VCenter
	vc      *fleet.VCenter
	session *session.Session
	reader  *tags.Reader
	objects []tags.Ref
	paths   map[tags.Ref]string
	log     ktesting.Buffer
}

func simulate(t *testing.T) *simulated {
	t.Helper()
	sim, cfgs := vcentertest.Simulate(t, twoClusters)
	w := &simulated{T: t, cfg: &cfgs[0], vc: sim.VCenters()[0], reader: tags.NewReader("east", refresh, 4), paths: map[tags.Ref]string{}}
	w.open(cfgs[0].Password.Reveal())
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
	w.log = logger.GetSink().(ktesting.Underlier).GetBuffer()
	w.ctx = klog.NewContext(t.Context(), logger)
	finder := find.NewFinder(w.session.Client())
	for _, path := range []string{"/dc1", "/dc1/host/c1", "/dc1/host/c2"} {
		found, err := finder.ManagedObjectList(t.Context(), path)
		if err != nil || len(found) != 1 {
			t.Fatalf("looking for %s: found %v, error %v, want one object", path, found, err)
		}
		ref := found[0].Object.Reference()
		w.objects, w.paths[ref] = append(w.objects, ref), path
	}
	return w
}

func (w *simulated) open(password string) {
	w.Helper()
	e := session.NewEndpoint(w.cfg, session.Options{Timeout: time.Minute, LoginTimeout: time.Minute,
		Throttle: session.NewLoginThrottle(session.LoginLimits{}, nil), Observer: new(vcentertest.Counter), Guard: &faults.Guard{}})
	s, err := session.Open(w.Context(), e, credentials.Credentials{User: w.cfg.User, Password: config.NewPassword(password)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(w.Context())); err != nil {
			w.Errorf("logging out: %v", err)
		}
	})
	w.session = s
}

func (w *simulated) read(wanted ...string) tags.Attachments {
	return w.reader.Through(w.session.REST()).Read(w.ctx, tags.Query{Objects: w.objects, Paths: w.paths, Categories: wanted})
}

// logged returns the number of occurrences of a text in the log.
func (w *simulated) logged(text string) int { return strings.Count(w.log.String(), text) }

func (w *simulated) want(a tags.Attachments, object int, want ...topology.Tag) {
	w.Helper()
	if got, err := a.TagsOf(w.objects[object]); err != nil || !slices.Equal(got, want) {
		w.Errorf("%s: %v, %v, want %v", w.paths[w.objects[object]], got, err, want)
	}
}

// TestRead checks that a read takes one login and one batch, and that names are read once.
func TestRead(t *testing.T) {
	w := simulate(t)
	for range 3 {
		a := w.read("region", "zone", "rack")
		if a.Err != nil || a.RefreshErr != nil || a.Incomplete || !slices.Equal(a.Absent, []string{"rack"}) {
			t.Fatalf("the reading: %+v, want no error and only the category rack absent", a)
		}
		w.want(a, 0, topology.Tag{Category: "region", Name: "east"})
		w.want(a, 1, topology.Tag{Category: "zone", Name: "a"})
		w.want(a, 2, topology.Tag{Category: "zone", Name: "b"})
	}
	requests := w.vc.Requests()
	for call, want := range map[string]int{
		"POST /com/vmware/cis/session": 1,
		"POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects": 3,
		"GET /com/vmware/cis/tagging/tag/id:{id}":                                            3,
	} {
		if got := requests[call]; got != want {
			t.Errorf("%d requests %s, want %d: %v", got, call, want, requests)
		}
	}
	if text := w.log.String(); text != "" {
		t.Errorf("logged %s", text)
	}
}

// TestRejectedObjectsAreLoggedOnce covers the end of the refusal, too.
func TestRejectedObjectsAreLoggedOnce(t *testing.T) {
	w := simulate(t)
	denied := func(want int) {
		t.Helper()
		for range 200 {
			if len(w.read().NotPermitted()) == want {
				return
			}
			time.Sleep(refresh)
		}
		t.Fatalf("not %d objects", want)
	}
	if err := w.vc.DenyRead("c2"); err != nil {
		t.Fatal(err)
	}
	denied(1)
	denied(1)
	if err := w.vc.AllowRead("c2"); err != nil {
		t.Fatal(err)
	}
	denied(0)
	if text := w.log.String(); strings.Count(text, "\n") != 2 || strings.Count(text, "/dc1/host/c2") != 2 {
		t.Errorf("logged %s", text)
	}
}

// TestTheLastError checks that the error has a stable text and is logged once, as is its end.
func TestTheLastError(t *testing.T) {
	w := simulate(t)
	if a := w.read(); a.Err != nil {
		t.Fatal(a.Err)
	}
	w.vc.ThrottleTagging()
	for range 3 {
		a := w.read()
		if rest.ClassOf(a.Err) != rest.Busy || !rest.Answered(a.Err) || !strings.HasPrefix(a.Err.Error(), `vCenter "east": `) {
			t.Errorf("the reading of a throttled tagging service: error %v, want a busy answer that names the vCenter", a.Err)
		}
		if _, err := a.TagsOf(w.objects[0]); err == nil {
			t.Error("tags that were not read are none")
		}
	}
	w.vc.RecoverTagging()
	for range 2 {
		if a := w.read(); a.Err != nil {
			t.Error(a.Err)
		}
	}
	if w.logged("Cannot read tags; new Nodes that need them stay uninitialized") != 1 || w.logged("Tags can be read again") != 1 {
		t.Errorf("logged %s", w.log.String())
	}
}

// TestOtherCredentials checks that new credentials are tried at once on unreadable objects.
func TestOtherCredentials(t *testing.T) {
	w := simulate(t)
	if err := w.vc.DenyRead("c2"); err != nil {
		t.Fatal(err)
	}
	if a := w.read(); len(a.NotPermitted()) != 1 {
		t.Fatalf("the reading without access to c2: %+v, want one object that is not permitted", a)
	}
	if err := w.vc.AllowRead("c2"); err != nil {
		t.Fatal(err)
	}
	w.vc.SetPassword("another")
	w.open("another")
	w.want(w.read(), 2, topology.Tag{Category: "zone", Name: "b"})
}
