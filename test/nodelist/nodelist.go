// Package nodelist serves Nodes to a command that only lists them, for tests of many Nodes, for
// which a control plane would take minutes.
package nodelist

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Serve lists Nodes as the API server does, page by page, until the test ends. It returns the path of
// a kubeconfig that leads there.
func Serve(t testing.TB, nodes []v1.Node) string {
	t.Helper()
	s := httptest.NewServer(Handler(nodes))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, Config(s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Handler serves the list of Nodes.
func Handler(nodes []v1.Node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes" {
			http.NotFound(w, r)
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		if limit == 0 {
			limit = len(nodes)
		}
		list := v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		to := min(from+limit, len(nodes))
		if list.Items = nodes[from:to]; to < len(nodes) {
			list.Continue = strconv.Itoa(to)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&list)
	})
}

// Config returns a kubeconfig that leads to a server without credentials.
func Config(server string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: %q}}]
users: [{name: a}]
`, server)
}
