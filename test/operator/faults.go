package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/cluster"
)

// createNode creates a Node as a kubelet registers it.
func createNode(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	if len(args) == 0 {
		ts.Fatalf("usage: node NAME [vm=NAME] [uuid=UUID] [provider=VM] [label=KEY=VALUE]…")
	}
	spec := cluster.NodeSpec{Name: args[0], Labels: map[string]string{}}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "vm", "provider":
			m, err := s.Fleet.Machine(value)
			ts.Check(err)
			if key == "vm" {
				spec.SystemUUID = m.UUID
			} else {
				spec.ProviderID = m.ProviderID()
			}
		case "uuid":
			spec.SystemUUID = value
		case "label":
			label, of, _ := strings.Cut(value, "=")
			spec.Labels[label] = of
		default:
			ts.Fatalf("a Node has no %s here", key)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	ts.Check(s.Cluster.CreateNodes(ctx, []cluster.NodeSpec{spec}))
}

// deny has a vCenter answer NoPermission to a SOAP method, which succeeds again with !.
func deny(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] deny NAME METHOD")
	}
	v := theVCenter(ts, args[0])
	if neg {
		v.Fault(args[1], nil)
		return
	}
	v.Fault(args[1], &types.NoPermission{PrivilegeId: "System.View"})
}

// trust writes the certificate that a vCenter shows now to where the configuration has it.
func trust(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: trust NAME")
	}
	v := theVCenter(ts, args[0])
	if s := of(ts).stack; s != nil {
		ts.Check(s.WriteCA(v))
		return
	}
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("ca"), v.Name()+".pem"), v.Certificate(), 0o600))
}
