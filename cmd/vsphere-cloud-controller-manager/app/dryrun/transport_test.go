package dryrun

import (
	"encoding/json"
	"errors"
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
	// refusal is the answer to writes, 0 to allow them.
	refusal int
}

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
	switch {
	case strings.HasSuffix(r.URL.Path, "/absent"):
		w.WriteHeader(http.StatusNotFound)
		answer = &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	case r.Method == http.MethodGet:
	case a.refusal != 0:
		w.WriteHeader(a.refusal)
		answer = &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "a policy\nsays no", Code: int32(a.refusal)}
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

// TestRefusalsAreNoted, but not those after which the writer tries again or has nothing to do.
func TestRefusalsAreNoted(t *testing.T) {
	for code, want := range map[int]string{http.StatusForbidden: `a policy\nsays no`, http.StatusBadRequest: `a policy\nsays no`, http.StatusConflict: "", http.StatusNotFound: ""} {
		a, r := newAPI(t), New()
		a.refusal = code
		if _, err := a.client(r).CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}); err == nil {
			t.Errorf("%d: no error", code)
		}
		nodes, _, _ := r.changes.all()
		if got := nodes["n"].refused; got != want || len(nodes["n"].fields) > 0 {
			t.Errorf("%d: noted %q, %v", code, got, nodes)
		}
	}
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
	if want := []warning{{"Node n", "WarningReason", "two; lines"}}; !slices.Equal(warnings, want) {
		t.Errorf("noted %q", warnings)
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
