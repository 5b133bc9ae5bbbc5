package framework

import (
	"errors"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
)

func aNode(uid types.UID) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}}
}

type memory struct {
	sync.Mutex
	of map[types.UID]*Answers
}

func (m *memory) AnswersAbout(n *v1.Node) *Answers {
	if m.of[n.UID] == nil {
		m.of[n.UID] = &Answers{}
	}
	return m.of[n.UID]
}

func (m *memory) Requeue(*v1.Node) {}

// aGuard returns a guard of a cache with one Node or none.
func aGuard(current *v1.Node) *Guard {
	return &Guard{
		Answers: &memory{of: map[types.UID]*Answers{}},
		Current: func(string) (*v1.Node, error) {
			if current == nil {
				return nil, errors.New("not found")
			}
			return current, nil
		},
	}
}

// TestDeletionsFollowFromAnswers: each deletion needs an answer of its own about the current Node.
func TestDeletionsFollowFromAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(*Guard)
		want []types.UID // the UIDs of two deletions
	}{
		"nobody has asked":         {func(*Guard) {}, nil},
		"absent":                   {func(g *Guard) { g.RecordExists(aNode("two"), false) }, []types.UID{"two"}},
		"there again":              {func(g *Guard) { g.RecordExists(aNode("two"), false); g.RecordExists(aNode("two"), true) }, nil},
		"of the Node before":       {func(g *Guard) { g.RecordExists(aNode("one"), false) }, nil},
		"both":                     {func(g *Guard) { g.RecordExists(aNode("one"), false); g.RecordExists(aNode("two"), false) }, []types.UID{"two"}},
		"it is there, that is not": {func(g *Guard) { g.RecordExists(aNode("two"), true); g.RecordExists(aNode("one"), false) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			var got []types.UID
			client.PrependReactor("delete", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
				got = append(got, *a.(clienttesting.DeleteAction).GetDeleteOptions().Preconditions.UID)
				return true, nil, nil
			})
			g := aGuard(aNode("two"))
			c.ask(g)
			nodes := g.Client(client).CoreV1().Nodes()
			for range 2 {
				_ = nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}) // the second deletion has no answer
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Nodes %q are deleted, want %q", got, c.want)
			}
		})
	}
}

// TestWhoseAddresses: the framework's worker and loop may ask about two Nodes of one name and write in either order. The
// Node in the cache gets its own addresses.
func TestWhoseAddresses(t *testing.T) {
	joining := func(uid types.UID) *v1.Node {
		n := aNode(uid)
		n.Spec.Taints = []v1.Taint{{Key: api.TaintExternalCloudProvider}}
		return n
	}
	with := func(address string) *cloudprovider.InstanceMetadata {
		return &cloudprovider.InstanceMetadata{NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}
	}
	patch := func(address string) string {
		return `{"status":{"addresses":[{"address":"n","type":"Hostname"},{"address":"` + address + `","type":"InternalIP"},{"$patch":"replace"}]}}`
	}
	for name, c := range map[string]struct {
		ask      func(*Guard)
		current  types.UID
		patch    string
		rejected bool
	}{
		"nobody was asked about": {func(*Guard) {}, "one", patch("10.0.0.1"), true},
		"of a Node that waits":   {func(g *Guard) { g.RecordMetadata(joining("one"), nil, Additions{}) }, "one", patch("10.0.0.1"), true},
		"of one that joins":      {func(g *Guard) { g.RecordMetadata(joining("one"), with("10.0.0.1"), Additions{}) }, "one", patch("10.0.0.1"), false},
		"of one that was replaced": {func(g *Guard) {
			g.RecordMetadata(joining("one"), with("10.0.0.1"), Additions{})
			g.RecordMetadata(joining("two"), with("10.0.0.2"), Additions{})
		}, "two", patch("10.0.0.1"), true},
		"of one that was replaced, the new one was not asked about": {func(g *Guard) {
			g.RecordMetadata(joining("one"), with("10.0.0.1"), Additions{})
		}, "two", patch("10.0.0.1"), true},
		"of the new one": {func(g *Guard) {
			g.RecordMetadata(aNode("one"), with("10.0.0.1"), Additions{})
			g.RecordMetadata(joining("two"), with("10.0.0.2"), Additions{})
		}, "two", patch("10.0.0.2"), false},
		"the same for both": {func(g *Guard) {
			g.RecordMetadata(aNode("one"), with("10.0.0.1"), Additions{})
			g.RecordMetadata(joining("two"), with("10.0.0.1"), Additions{})
		}, "two", patch("10.0.0.1"), false},
		"of one that the loop has asked about since": {func(g *Guard) {
			g.RecordMetadata(joining("one"), with("10.0.0.1"), Additions{})
			g.RecordMetadata(aNode("one"), &cloudprovider.InstanceMetadata{}, Additions{})
		}, "one", patch("10.0.0.1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := aGuard(aNode(c.current))
			c.ask(g)
			got, err := g.complete("n", []byte(c.patch), []string{"status"})
			want := `{"metadata":{"uid":"` + string(c.current) + `"},` + c.patch[1:]
			if (err != nil) != c.rejected || err == nil && string(got) != want {
				t.Errorf("the patch becomes %s, error %v, want %s, refused: %t", got, err, want, c.rejected)
			}
		})
	}
}

// TestUpdateKeepsManagedFields: the cached Node's managed fields, which are not all, are not written back.
func TestUpdateKeepsManagedFields(t *testing.T) {
	n := aNode("one")
	n.Spec.Taints = []v1.Taint{{Key: api.TaintExternalCloudProvider}}
	n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	client := fake.NewClientset()
	var written *v1.Node
	client.PrependReactor("update", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		written, _ = a.(clienttesting.UpdateAction).GetObject().(*v1.Node)
		return true, written, nil
	})
	g := aGuard(n)
	g.RecordMetadata(n, &cloudprovider.InstanceMetadata{}, Additions{})
	if _, err := g.Client(client).CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil || written == nil || len(written.ManagedFields) > 0 {
		t.Errorf("error %v, the Node written is %+v, want no managed fields", err, written)
	}
}

// TestOtherPatches: a patch without an answer must follow from the cached Node. Only its UID is added.
func TestOtherPatches(t *testing.T) {
	ready := []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	labeled, is := aNode("labeled"), aNode("ready")
	silent, off := aNode("silent"), aNode("off")
	labeled.Labels = map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelFailureDomainBetaRegion: "r", "other": "b"}
	is.Status.Conditions = ready
	const (
		zone    = `"topology.kubernetes.io/zone":"a"`
		region  = `"topology.kubernetes.io/region":"r"`
		taint   = `"spec":{"taints":[{"effect":"NoSchedule","key":"` + api.TaintNodeShutdown + `"}]}`
		noTaint = `"spec":{"taints":null}`
		version = `"resourceVersion":"7"`
	)
	for name, c := range map[string]struct {
		current     *v1.Node
		patch, want string // empty for an error
	}{
		"labels of the Node":                  {labeled, `{"metadata":{"labels":{` + region + `,` + zone + `}}}`, `{"metadata":{"labels":{` + region + `,` + zone + `},"uid":"labeled"}}`},
		"another value":                       {labeled, `{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}`, ""},
		"labels of another Node":              {is, `{"metadata":{"labels":{` + zone + `}}}`, ""},
		"a label that the framework does not": {labeled, `{"metadata":{"labels":{"other":"b"}}}`, ""},
		"of a Node that is gone":              {nil, `{"metadata":{"labels":{` + zone + `}}}`, ""},
		"the taint goes":                      {is, `{"metadata":{` + version + `},` + noTaint + `}`, `{"metadata":{` + version + `,"uid":"ready"},` + noTaint + `}`},
		"the taint of a Node that is silent":  {silent, `{"metadata":{` + version + `},` + noTaint + `}`, ""},
		"the taint comes":                     {off, `{"metadata":{` + version + `},` + taint + `}`, `{"metadata":{` + version + `,"uid":"off"},` + taint + `}`},
		"the taint of a Node that is not off": {silent, `{"metadata":{` + version + `},` + taint + `}`, ""},
		"no patch":                            {is, `{`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := aGuard(c.current)
			g.RecordShutdown(off, true)
			got, err := g.complete("n", []byte(c.patch), nil)
			if (err != nil) != (c.want == "") || string(got) != c.want {
				t.Errorf("the patch becomes %s, error %v; want %s", got, err, c.want)
			}
		})
	}
}
