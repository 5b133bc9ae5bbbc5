package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fixture"
	"vzones/test/stack"
)

func createNode(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	if len(args) == 0 {
		ts.Fatalf("usage: node NAME [vm=NAME] [uuid=UUID] [provider=VM] [id=ID] [node-ip=IP] [label=KEY=VALUE]… [untainted]")
	}
	spec := cluster.NodeSpec{Name: args[0], Labels: map[string]string{}}
	untainted := false
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "vm", "provider":
			m, err := s.Fleet.VM(value)
			ts.Check(err)
			if key == "vm" {
				spec.SystemUUID = m.UUID
			} else {
				spec.ProviderID = m.ProviderID()
			}
		case "uuid":
			spec.SystemUUID = value
		case "node-ip":
			spec.ProvidedIP = value
		case "id":
			spec.ProviderID = value
		case "untainted":
			untainted = true
		case "label":
			label, labelValue, _ := strings.Cut(value, "=")
			spec.Labels[label] = labelValue
		default:
			ts.Fatalf("unknown Node property %s", key)
		}
	}
	ctx := bounded(ts)
	n := spec.Node()
	if untainted {
		n.Spec.Taints = nil
	}
	_, err := s.Cluster.CreateNode(ctx, n)
	ts.Check(err)
}

// allHaveAddresses reports whether each Node is initialized and has addresses, which the framework writes after it
// has removed the taint.
func allHaveAddresses(nodes []*v1.Node) bool {
	for _, n := range nodes {
		if !slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP }) {
			return false
		}
	}
	return allInitialized(nodes)
}

func allInitialized(nodes []*v1.Node) bool {
	for _, n := range nodes {
		if !stack.Initialized(n) {
			return false
		}
	}
	return len(nodes) > 0
}

// hasEvent reports whether vzones has recorded an Event for a Node and the VM of each initialized Node.
func hasEvent(s *stack.Stack, node string) func([]*v1.Node) bool {
	return func(nodes []*v1.Node) bool {
		if slices.ContainsFunc(nodes, func(n *v1.Node) bool { return stack.Initialized(n) && n.Annotations[nodeinfo.KeyVM] == "" }) {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		events, err := s.Client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "source=vzones,involvedObject.name=" + node})
		return err == nil && len(events.Items) > 0
	}
}

func setReady(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: ready NODE STATUS")
	}
	ctx := bounded(ts)
	ts.Check(needStack(ts).Cluster.SetNodeReady(ctx, args[0], v1.ConditionStatus(args[1])))
}

// untilReady waits until a daemon has read every vCenter. Before that it writes nothing and may not even handle
// SIGTERM.
func untilReady(ctx context.Context, d *stack.Daemon) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		code, body, err := d.Get(ctx, "/readyz", "")
		switch {
		case err != nil:
			last = err
		case code != http.StatusOK:
			last = fmt.Errorf("/readyz: %d %s", code, body)
		default:
			return true, nil
		}
		select {
		case <-d.Exited():
			return false, errors.New("the daemon exited")
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("the daemon is not ready: %w", errors.Join(err, last))
	}
	return nil
}

// waiting serves a list of uninitialized Nodes without a control plane.
func waiting(ts *testscript.TestScript, _ bool, args []string) {
	uuids := map[string]string{}
	isEach := len(args) == 0
	for _, m := range worldOf(ts).fleet.VMs() {
		if uuids[m.Name] = m.UUID; isEach {
			args = append(args, m.Name)
		}
	}
	nodes := make([]v1.Node, len(args))
	for i, name := range args {
		nodes[i] = v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
		nodes[i].Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		nodes[i].Status.NodeInfo.SystemUUID = uuids[name]
	}
	s := httptest.NewServer(fixture.NodesHandler(nodes))
	ts.Defer(s.Close)
	file := ts.MkAbs("kubeconfig")
	ts.Check(os.WriteFile(file, fixture.Kubeconfig(s.URL), 0o600))
	ts.Setenv("KUBECONFIG", file)
}
