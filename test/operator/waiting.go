package operator

import (
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/test/nodelist"
)

// waiting lists Nodes that wait to be initialized, without a control plane.
func waiting(ts *testscript.TestScript, _ bool, args []string) {
	uuids := map[string]string{}
	isEach := len(args) == 0
	for _, m := range of(ts).fleet.Machines() {
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
	s := httptest.NewServer(nodelist.Handler(nodes))
	ts.Defer(s.Close)
	file := ts.MkAbs("kubeconfig")
	ts.Check(os.WriteFile(file, nodelist.Config(s.URL), 0o600))
	ts.Setenv("KUBECONFIG", file)
}
