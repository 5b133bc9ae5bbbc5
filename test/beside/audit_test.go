package beside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
)

const (
	account      = "system:serviceaccount:kube-system:"
	ourAccount   = account + "cloud-controller-manager"
	theirName    = "other-cloud-controller-manager"
	theirAccount = account + theirName

	ourScheme = "vsphere://"
	cleanups  = "removals of a condition or taint"
	// lag is the longest time for which a cloud controller manager may not know yet that the other has initialized a Node.
	lag = 10 * time.Second
)

// audited returns options for an API server that logs the writes of both cloud controller managers to Nodes and Events.
func audited(t *testing.T) (cluster.Options, string) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	const text = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  users: [%q, %q]
  verbs: [create, update, patch, delete]
  resources: [{group: "", resources: [nodes, nodes/status, events]}]
- {level: None}
`
	if err := os.WriteFile(policy, fmt.Appendf(nil, text, ourAccount, theirAccount), 0o600); err != nil {
		t.Fatal(err)
	}
	return cluster.Options{Flags: map[string][]string{"kube-apiserver": {"--audit-policy-file=" + policy, "--audit-log-path=" + log}}}, log
}

// An entry is a request in the audit log.
type entry struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Name string }
	// ResponseStatus has the status code.
	ResponseStatus struct{ Code int }
	StageTimestamp metav1.MicroTime
	RequestObject  json.RawMessage
	ResponseObject json.RawMessage
}

// A judge compares the requests with the owners of the Nodes.
type judge struct {
	// owners are the schemes of the provider IDs of Nodes, since the time when they were written.
	owners map[types.UID]owner
	// wrote counts the successful requests by user, verb and resource.
	wrote  map[string]int
	failed []string
}

type owner struct {
	scheme string
	since  time.Time
}

func (j *judge) fail(e *entry, format string, args ...any) {
	who := "vzones"
	if e.User.Username == theirAccount {
		who = "the other provider"
	}
	j.failed = append(j.failed, fmt.Sprintf("%s %s: %s %s %s %s: %s", e.StageTimestamp.Format(time.TimeOnly), who, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Name, fmt.Sprintf(format, args...)))
}

// read judges all requests in the log.
func (j *judge) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("decoding the audit log: %w", err)
		}
		if e.ResponseStatus.Code >= 300 {
			continue
		}
		j.wrote[strings.TrimPrefix(e.User.Username, account)+" "+e.Verb+" "+strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")]++
		if err := j.see(&e); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (j *judge) see(e *entry) error {
	foreign := theirScheme
	if e.User.Username == theirAccount {
		foreign = ourScheme
	}
	switch {
	case e.ObjectRef.Resource == "events":
		var event v1.Event
		if err := json.Unmarshal(e.ResponseObject, &event); err != nil {
			return fmt.Errorf("decoding an Event: %w", err)
		}
		about := j.owners[event.InvolvedObject.UID]
		if about.scheme == foreign && event.LastTimestamp.Sub(about.since) > lag {
			j.fail(e, "an Event %s about Node %s, which is not its own since %v", event.Reason, event.InvolvedObject.Name, about.since)
		}
	case e.Verb == "delete":
		var status struct{ Details struct{ UID types.UID } }
		if err := json.Unmarshal(e.ResponseObject, &status); err != nil {
			return fmt.Errorf("decoding a deletion: %w", err)
		}
		if is := j.owners[status.Details.UID].scheme; is == "" || is == foreign {
			j.fail(e, "the Node's provider ID begins with %q", is)
		}
	default:
		var n v1.Node
		if err := json.Unmarshal(e.ResponseObject, &n); err != nil {
			return fmt.Errorf("decoding a Node: %w", err)
		}
		switch {
		case !strings.HasPrefix(n.Spec.ProviderID, foreign):
		case isCleanup(e, &n):
			j.wrote[cleanups]++
		default:
			j.fail(e, "the provider ID is %s: %s", n.Spec.ProviderID, e.RequestObject)
		}
		if e.Verb == "update" {
			scheme, _, _ := strings.Cut(n.Spec.ProviderID, "://")
			j.owners[n.UID] = owner{scheme + "://", e.StageTimestamp.Time}
		}
	}
	return nil
}

// isCleanup reports whether a request only removes vzones' condition or the taint of a shutdown: the framework removes that
// taint from each Node that is ready.
func isCleanup(e *entry, n *v1.Node) bool {
	var patch struct {
		Metadata, Spec map[string]any
		Status         struct{ Conditions []map[string]string }
	}
	if json.Unmarshal(e.RequestObject, &patch) != nil || e.Verb != "patch" || len(patch.Metadata) != 1 {
		return false
	}
	if e.User.Username == theirAccount {
		isTaint := func(taint v1.Taint) bool { return taint.Key == cloudproviderapi.TaintNodeShutdown }
		_, hasTaints := patch.Spec["taints"]
		return hasTaints && len(patch.Status.Conditions) == 0 && !slices.ContainsFunc(n.Spec.Taints, isTaint)
	}
	return len(patch.Spec) == 0 && len(patch.Status.Conditions) == 1 &&
		patch.Status.Conditions[0]["$patch"] == "delete" && patch.Status.Conditions[0]["type"] == nodeinfo.TopologyReady
}
