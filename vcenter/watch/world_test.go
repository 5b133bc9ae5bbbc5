package watch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const stranger = "11111111-2222-3333-4444-555555555555"

func identity(t *testing.T, uuid string) inventory.Identity {
	t.Helper()
	u, err := inventory.ParseUUID(uuid)
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Identity{UUIDs: []inventory.UUID{u}}
}

// recorded adds a home annotation.
func recorded(id inventory.Identity, vcenter, moid string) inventory.Identity {
	id.Recorded = topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: moid}
	return id
}

// A recorder records what a watch reports.
type recorder struct {
	mu        sync.Mutex
	snapshots []Publication
	contacts  []time.Time
	// published receives a token per snapshot.
	published chan struct{}
}

func (r *recorder) Publish(_ context.Context, p Publication) {
	r.mu.Lock()
	r.snapshots = append(r.snapshots, p)
	r.mu.Unlock()
	r.published <- struct{}{}
}

func (r *recorder) Contact(_ context.Context, at time.Time, _ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contacts = append(r.contacts, at)
}

// contact returns the last snapshot, and the last time at which it was current.
func (r *recorder) contact() (at time.Time, last *inventory.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.snapshots); n > 0 {
		at, last = r.snapshots[n-1].LastContact, r.snapshots[n-1].Snapshot
	}
	if n := len(r.contacts); n > 0 && r.contacts[n-1].After(at) {
		at = r.contacts[n-1]
	}
	return at, last
}

func (r *recorder) Started()                                     {}
func (r *recorder) TagNames(context.Context, inventory.TagNames) {}
func (r *recorder) TagsRead(context.Context, error)              {}
func (r *recorder) CredentialsRejected()                         {}

type noTags struct{}

func (noTags) Read(context.Context, tags.Query) tags.Attachments { return tags.Attachments{} }
func (noTags) Wait() error                                       { return nil }

var (
	rootFolder = types.ManagedObjectReference{Type: "Folder", Value: "group-d1"}
	cluster    = types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c7"}
)

// newWatch returns a watch whose model has only a cluster with the name c%2f1, whose tags are wanted.
func newWatch(server soap.RoundTripper, change func(*Options)) (*Watch, *recorder) {
	r := &recorder{published: make(chan struct{}, 100)}
	opts := Options{
		VCenter: "east", TagRefresh: time.Hour, TagRetry: time.Second, Timeout: time.Second, PollTime: 25 * time.Second,
		Guard: &faults.Guard{}, Slots: NewSlots(),
	}
	if change != nil {
		change(&opts)
	}
	client := &vim25.Client{RoundTripper: server, ServiceContent: types.ServiceContent{RootFolder: rootFolder}}
	w := New(session.FromClient(client), noTags{}, NewInbox(&Requirements{}), NewMemory(), opts, r)
	w.model.Tree.Apply(&types.ObjectUpdate{Obj: cluster, ChangeSet: []types.PropertyChange{{Name: "name", Val: "c%2f1"}}})
	w.tags.refs = []types.ManagedObjectReference{cluster}
	return w, r
}

func indexFilter(w *Watch) types.ManagedObjectReference {
	ref := types.ManagedObjectReference{Type: "PropertyFilter", Value: "index"}
	w.views.index[ref] = true
	return ref
}

// update is a change of vm-1 with pairs of property names and values.
func update(kind types.ObjectUpdateKind, properties ...any) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: kind, Obj: model.VMRef("vm-1")}
	for i := 0; i < len(properties); i += 2 {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: properties[i].(string), Op: types.PropertyChangeOpAssign, Val: properties[i+1]})
	}
	return u
}
