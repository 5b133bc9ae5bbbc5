package dryrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// An api is an API server with one Node, below a path as behind a proxy. It notes what it is sent.
type api struct {
	*httptest.Server
	mu sync.Mutex
	// got are the requests that it got.
	got []string
	// node is the Node, and would what a write makes of it.
	node, would *v1.Node
	// version is that of the answer to the next write; then it is that of the Node.
	version string
	// refusal is the answer to writes, and unread to reading the Node, 0 to allow them. Where it is
	// hangUp there is no answer.
	refusal, unread int
}

// hangUp has an api end the connection.
const hangUp = -1

func newAPI(t *testing.T) *api {
	t.Helper()
	node := &v1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "1"}},
	}
	a := &api{node: node, would: node.DeepCopy()}
	a.would.Labels["a"] = "2"
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	a.got = append(a.got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	w.Header().Set("Content-Type", "application/json")
	var answer any = a.node
	code := a.refusal
	if r.Method == http.MethodGet {
		code = a.unread
	}
	if code == hangUp {
		panic(http.ErrAbortHandler)
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/absent"):
		w.WriteHeader(http.StatusNotFound)
		answer = &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	case code != 0:
		w.WriteHeader(code)
		answer = &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "a policy\nsays no", Code: int32(code)}
	case r.Method == http.MethodGet:
	case a.version != "":
		other := a.would.DeepCopy()
		other.ResourceVersion, a.version = a.version, ""
		answer = other
	default:
		answer = a.would
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// client returns a client of a dry run.
func (a *api) client(r *Run) kubernetes.Interface {
	cfg := &rest.Config{Host: a.URL + "/k8s/clusters/c"}
	return r.Clients(clientbuilder.SimpleControllerClientBuilder{ClientConfig: cfg}).ClientOrDie("x")
}

func (a *api) expect(t *testing.T, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.got, want) {
		t.Errorf("the API server got\n%q, not\n%q", a.got, want)
	}
	a.got = nil
}

const nodePath = "/k8s/clusters/c/api/v1/nodes/n"

// TestWritesOfNodesAreDry: whichever part of a Node a write is about, it is sent with
// dryRun=All, and what differs is noted once, however often it is sent.
func TestWritesOfNodesAreDry(t *testing.T) {
	for name, write := range map[string]struct {
		write func(kubernetes.Interface) error
		sent  string
	}{
		"a patch": {func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		}, "PATCH " + nodePath + "?dryRun=All {}"},
		"a patch of the status": {func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Patch(t.Context(), "n", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{FieldManager: "m"}, "status")
			return err
		}, "PATCH " + nodePath + "/status?dryRun=All&fieldManager=m {}"},
		"an update": {func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Update(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.UpdateOptions{DryRun: []string{"None"}})
			return err
		}, "PUT " + nodePath + "?dryRun=All "},
	} {
		a, r := newAPI(t), New()
		client := a.client(r)
		for range 2 {
			if err := write.write(client); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			a.mu.Lock()
			if len(a.got) != 2 || a.got[0] != "GET "+nodePath || !strings.HasPrefix(a.got[1], write.sent) {
				t.Errorf("%s: the API server got %q", name, a.got)
			}
			a.got = nil
			a.mu.Unlock()
		}
		nodes, _, refused := r.changes.all()
		if rows := rowsOf(nodes["n"]); !slices.Equal(rows, []row{{"label a", "1", "2"}}) || nodes["n"].uid != "u" || len(refused) > 0 {
			t.Errorf("%s: noted %+v, %v", name, nodes, refused)
		}
		if version, busy := r.changes.state(); version != 1 || busy {
			t.Errorf("%s: version %d, busy %v", name, version, busy)
		}
	}
}

func rowsOf(c changed) []row { return c.rows() }

// TestTheNodeIsComparedWithItself: a Node that changes between its reading and the write is
// read again, or somebody else's change would be taken for ours.
func TestTheNodeIsComparedWithItself(t *testing.T) {
	a, r := newAPI(t), New()
	a.version = "8"
	if _, err := a.client(r).CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	get, patch := "GET "+nodePath, "PATCH "+nodePath+"?dryRun=All {}"
	a.expect(t, get, patch, get, patch)
}

// TestFailuresAreNoted: of a write, and of the reading before a write or a deletion, but not those after
// which the writer tries again or has nothing to do.
func TestFailuresAreNoted(t *testing.T) {
	writes := map[string]func(*testing.T, kubernetes.Interface) error{
		"patch": func(t *testing.T, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"deletion": func(t *testing.T, c kubernetes.Interface) error {
			return c.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{})
		},
	}
	const refused, unread = `the API server refuses a write: a policy\nsays no`, `the API server refuses the reading before a write: a policy\nsays no`
	for _, c := range []struct {
		write           string
		refusal, unread int
		want            string
	}{
		{"patch", http.StatusForbidden, 0, refused},
		{"patch", http.StatusBadRequest, 0, refused},
		{"patch", http.StatusInternalServerError, 0, refused},
		{"patch", http.StatusConflict, 0, ""},
		{"patch", http.StatusNotFound, 0, ""},
		{"patch", hangUp, 0, "a write fails: EOF"},
		{"patch", 0, http.StatusForbidden, unread},
		{"patch", 0, http.StatusServiceUnavailable, unread},
		{"patch", 0, http.StatusNotFound, ""},
		{"patch", 0, http.StatusConflict, unread},
		{"patch", 0, hangUp, "the reading before a write fails: EOF"},
		{"deletion", 0, http.StatusForbidden, unread},
		{"deletion", 0, http.StatusNotFound, ""},
		{"deletion", 0, hangUp, "the reading before a write fails: EOF"},
	} {
		a, r := newAPI(t), New()
		a.refusal, a.unread = c.refusal, c.unread
		if err := writes[c.write](t, a.client(r)); err == nil {
			t.Errorf("%+v: no error", c)
		}
		nodes, _, _ := r.changes.all()
		n := nodes["n"]
		if got := n.failure(); got != c.want || len(n.fields) > 0 || n.deleted {
			t.Errorf("%+v: noted %q, %v", c, got, nodes)
		}
	}
}

// TestACanceledWriteIsNoFailure: nobody waits for it any more.
func TestACanceledWriteIsNoFailure(t *testing.T) {
	a, r := newAPI(t), New()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, a.URL+nodePath, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Wrap(http.DefaultTransport).RoundTrip(req)
	if err == nil {
		res.Body.Close()
		t.Error("no error")
	}
	if nodes, _, _ := r.changes.all(); len(nodes) > 0 {
		t.Errorf("noted %+v", nodes)
	}
}

// TestAFailureEndsWithTheSameWrite, whatever else is in it by then, but not with one of other parts of
// the Node. Each is something new once.
func TestAFailureEndsWithTheSameWrite(t *testing.T) {
	a, r := newAPI(t), New()
	client := a.client(r)
	patch := func(code int, body string) {
		t.Helper()
		a.mu.Lock()
		a.refusal = code
		a.mu.Unlock()
		if _, err := client.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte(body), metav1.PatchOptions{}); (err == nil) != (code == 0) {
			t.Error(err)
		}
	}
	expect := func(failing bool, version int, when string) {
		t.Helper()
		_, is := r.changes.progress()
		if got, _ := r.changes.state(); is != failing || got != version {
			t.Errorf("%s: failing %v, version %d, not %d", when, is, got, version)
		}
	}
	const labels, annotations = `{"metadata":{"labels":{"a":"%s"}}}`, `{"metadata":{"annotations":{"a":"1"}}}`
	patch(http.StatusInternalServerError, fmt.Sprintf(labels, "1"))
	expect(true, 1, "it fails")
	patch(http.StatusServiceUnavailable, fmt.Sprintf(labels, "2"))
	expect(true, 1, "it fails again")
	patch(0, annotations)
	expect(true, 2, "another one has a result")
	patch(0, fmt.Sprintf(labels, "3"))
	expect(false, 3, "it has one")
	patch(http.StatusForbidden, fmt.Sprintf(labels, "3"))
	expect(true, 4, "it fails once more")
}

// TestNoNodeIsDeleted: it is noted and not sent, unless there is none of that name.
func TestNoNodeIsDeleted(t *testing.T) {
	a, r := newAPI(t), New()
	nodes := a.client(r).CoreV1().Nodes()
	if err := nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	a.expect(t, "GET "+nodePath)
	if err := nodes.Delete(t.Context(), "absent", metav1.DeleteOptions{}); err == nil {
		t.Error("a Node that is not there was deleted")
	}
	all, _, _ := r.changes.all()
	if !all["n"].deleted || !r.changes.isRemoved("n") || r.changes.isRemoved("absent") || len(all) != 1 {
		t.Errorf("noted %+v", all)
	}
}

// TestEventsAreNoted: none is sent, and those that warn are noted once.
func TestEventsAreNoted(t *testing.T) {
	a, r := newAPI(t), New()
	events := a.client(r).CoreV1().Events("default")
	for _, kind := range []string{v1.EventTypeNormal, v1.EventTypeWarning, v1.EventTypeWarning} {
		e := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "n.1", Namespace: "default"}, InvolvedObject: v1.ObjectReference{Kind: "Node", Name: "n"}, Type: kind, Reason: kind + "Reason", Message: "two\nlines"}
		if got, err := events.Create(t.Context(), e, metav1.CreateOptions{}); err != nil || got.Reason != e.Reason {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := events.PatchWithEventNamespaceWithContext(t.Context(), e, []byte(`{"count":2}`)); err != nil {
			t.Error(err)
		}
	}
	a.expect(t)
	_, warnings, _ := r.changes.all()
	if want := []warning{{"n", "Node n", "WarningReason", "two; lines"}}; !slices.Equal(warnings, want) {
		t.Errorf("noted %q", warnings)
	}
}

// TestAWarningEnds with the Event that says so, and so does the condition that says the same.
func TestAWarningEnds(t *testing.T) {
	node, pod := v1.ObjectReference{Kind: "Node", Name: "n"}, v1.ObjectReference{Kind: "Pod", Name: "p"}
	for name, c := range map[string]struct {
		over v1.Event
		ends string // the Warning that it ends
	}{
		"of the Node":        {v1.Event{InvolvedObject: node, Reason: "ProblemResolved", Message: `vCenter "a": TopologyMissing is over`}, "Node n TopologyMissing"},
		"without a vCenter":  {v1.Event{InvolvedObject: node, Reason: "ProblemResolved", Message: "TopologyDrift is over"}, "Node n TopologyDrift"},
		"of another Node":    {v1.Event{InvolvedObject: v1.ObjectReference{Kind: "Node", Name: "m"}, Reason: "ProblemResolved", Message: "TopologyDrift is over"}, ""},
		"something else":     {v1.Event{InvolvedObject: node, Reason: "Synced", Message: "TopologyDrift"}, ""},
		"of a vCenter":       {v1.Event{InvolvedObject: pod, Reason: "VCenterRecovered", Message: `vCenter "a" has recovered from VCenterUnreadable after 40s`}, "Pod p VCenterUnreadable"},
		"of another vCenter": {v1.Event{InvolvedObject: pod, Reason: "VCenterRecovered", Message: `vCenter "b" has recovered from VCenterUnreadable after 40s`}, ""},
	} {
		all := newChanges()
		now := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		would := now.DeepCopy()
		would.Status.Conditions = []v1.NodeCondition{{Type: "vzones/TopologyReady", Status: v1.ConditionFalse, Reason: "TopologyMissing"}}
		all.write(action{}, now, would)
		for _, w := range []v1.Event{
			{InvolvedObject: node, Reason: "TopologyMissing", Message: "category"}, {InvolvedObject: node, Reason: "TopologyDrift", Message: "label"},
			{InvolvedObject: pod, Reason: "VCenterUnreadable", Message: `vCenter "a": no route`},
		} {
			w.Type = v1.EventTypeWarning
			all.record(&w)
		}
		c.over.Type = v1.EventTypeNormal
		all.record(&c.over)
		nodes, left, _ := all.all()
		want := slices.DeleteFunc([]string{"Node n TopologyDrift", "Node n TopologyMissing", "Pod p VCenterUnreadable"}, func(w string) bool { return w == c.ends })
		var got []string
		for _, w := range left {
			got = append(got, w.object+" "+w.reason)
		}
		if !slices.Equal(got, want) || (len(nodes["n"].fields) == 0) != strings.HasSuffix(c.ends, "TopologyMissing") {
			t.Errorf("%s: left are %q and %v", name, got, nodes["n"].fields)
		}
	}
}

// TestUnknownWritesAreRefused, and reading and asking for rights are not.
func TestUnknownWritesAreRefused(t *testing.T) {
	for request, allowed := range map[string]bool{
		"GET /api/v1/nodes/n":      true,
		"GET /api/v1/nodes":        true,
		"POST /api/v1/nodes":       false,
		"DELETE /api/v1/nodes":     false,
		"DELETE /api/v1/nodes/":    false,
		"POST /api/v1/nodes/n":     false,
		"DELETE /api/v1/nodes/n/x": false,
		"PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x":         false,
		"POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases":          false,
		"PATCH /api/v1/namespaces/kube-system/configmaps/events":                   false,
		"DELETE /api/v1/namespaces/default/events":                                 false,
		"DELETE /api/v1/namespaces/default/events/e":                               false,
		"POST /api/v1/namespaces/kube-system/serviceaccounts/a/token":              false,
		"POST /apis/events.k8s.io/v1/namespaces/default/events":                    false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":              true,
		"POST /apis/authentication.k8s.io/v1/tokenreviews":                         true,
		"POST /apis/example.com/v1/reviews":                                        false,
		"PUT /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":               false,
		"POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": false,
	} {
		a, r := newAPI(t), New()
		method, path, _ := strings.Cut(request, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Wrap(http.DefaultTransport).RoundTrip(req)
		if err == nil {
			res.Body.Close()
		}
		_, _, refused := r.changes.all()
		if (err == nil) != allowed || !allowed && (!errors.Is(err, errNotSent) || len(a.got) > 0 || !slices.Equal(refused, []string{request})) {
			t.Errorf("%s: %v, sent %q, noted %q", request, err, a.got, refused)
		}
	}
}
