package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/cli"
	"vzones/test/fleet/fleettest"
	"vzones/test/nodelist"
)

// aServer serves one Node, and counts how often that is listed.
type aServer struct {
	mu    sync.Mutex
	lists int
	node  v1.Node
}

func (s *aServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&v1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: []v1.Node{s.node}})
}

func (s *aServer) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// written is an output that is read while it is written.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(data)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// TestWatchIsPaced: a machine that moves all the time has the Nodes listed once a second, and its moves
// printed.
func TestWatchIsPaced(t *testing.T) {
	f := fleettest.Start(t, "vcenters:\n- name: east\n  datacenters:\n  - name: dc1\n    clusters: [{name: c1, hosts: [h1, h2]}]\n    vms: [{name: node-1, cluster: c1}]\n")
	s := &aServer{node: v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"}}}
	s.node.Spec.ProviderID = f.Machines()[0].ProviderID()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out written
	cmd := Command(&cli.Tool{Stdout: &out, Stderr: t.Output()})
	cmd.SetArgs([]string{"-c", fleettest.WriteConfig(t, f, t.TempDir()), "--kubeconfig", nodelist.Kubeconfig(t, server.URL), "--watch"})
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	const lines = 3 // the heading, the Node, and one change
	for i := 0; (strings.Count(out.String(), "\n") < lines || time.Since(start) < 2*time.Second) && time.Since(start) < time.Minute; i++ {
		if err := f.VCenter("east").MoveVM("node-1", fmt.Sprintf("h%d", 1+i%2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
	lists := s.listed()
	took := time.Since(start)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most := 2 + int(took/changesEvery); lists > most {
		t.Errorf("the Nodes were listed %d times in %v", lists, took)
	}
	if n := strings.Count(out.String(), "\n"); n < lines {
		t.Errorf("%d lines in %v:\n%s", n, took, out.String())
	}
}
