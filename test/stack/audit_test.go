package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
)

// audited returns options for an API server that logs all requests of the daemon's ServiceAccount in a namespace, and
// the path of the log.
func audited(t *testing.T, space string) (cluster.Options, string) {
	t.Helper()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	log := filepath.Join(dir, "audit.log")
	const text = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, users: [%[1]q], verbs: [delete]}
- {level: Metadata, users: [%[1]q]}
- {level: None}
`
	if err := os.WriteFile(policy, fmt.Appendf(nil, text, "system:serviceaccount:"+space+":"+serviceAccount), 0o600); err != nil {
		t.Fatal(err)
	}
	return cluster.Options{Flags: map[string][]string{"kube-apiserver": {
		"--audit-policy-file=" + policy, "--audit-log-path=" + log,
	}}}, log
}

// A request is an entry of the audit log.
type request struct {
	Verb       string
	RequestURI string
	ObjectRef  struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// RequestObject is the body of a deletion.
	RequestObject metav1.DeleteOptions
	// Annotations contain the authorization decision and its binding.
	Annotations map[string]string
}

func (r request) allowed() bool { return r.Annotations["authorization.k8s.io/decision"] == "allow" }

func (r request) String() string {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.ObjectRef.Namespace, resource, r.Verb, r.ObjectRef.Name))
}

// requests returns the entries after an offset.
func requests(t *testing.T, log string, offset int) []request {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var all []request
	for line := range bytes.Lines(data[min(offset, len(data)):]) {
		var r request
		if !bytes.HasSuffix(line, []byte("\n")) {
			// The API server is still writing the line.
			break
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("decoding a line of the audit log: %v\n%s", err, line)
		}
		all = append(all, r)
	}
	return all
}
