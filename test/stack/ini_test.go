package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestINI: with the CSI driver's file as its configuration, the daemon labels a
// Node by all of the driver's categories.
func TestINI(t *testing.T) {
	s := start(t, `
vcenters:
- name: east
  password: 'pw-#;"\e = t'
  tags: {k8s-region: east}
  datacenters:
  - name: dc
    tags: {k8s-zone: a}
    clusters: [{name: c, hosts: 1, tags: {k8s-rack: r1}}]
    vms: [{name: e}]
`)
	machines := s.Fleet.Machines()
	if err := s.Register(t.Context(), machines...); err != nil {
		t.Fatal(err)
	}
	v := s.Fleet.VCenters()[0]
	ca := filepath.Join(s.Dir, "east.pem")
	if err := os.WriteFile(ca, v.Certificate(), 0o600); err != nil {
		t.Fatal(err)
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	config := filepath.Join(s.Dir, "csi-vsphere.conf")
	text := fmt.Sprintf(`[Global]
cluster-id = "cluster-1"

[VirtualCenter "%s"]
user = "%s"
password = "%s" ; as it is
port = "%d"
ca-file = "%s"
datacenters = "dc"

[Labels]
topology-categories = "k8s-rack,k8s-zone,k8s-region"
`, v.Host(), quoted(v.User()), quoted(v.Password()), v.Port(), ca)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	node := initialized(t, s, d, machines)["e"]
	if w := wrong(node, machines[0], "east", "a"); w != "" {
		t.Error(w)
	}
	if got := node.Labels["k8s-rack"]; got != "r1" {
		t.Errorf("label k8s-rack is %q\n%s", got, d.Log())
	}
	if !strings.Contains(d.Log(), `csi-vsphere.conf:2: [Global] cluster-id: has no effect`) {
		t.Errorf("the log does not name cluster-id:\n%s", d.Log())
	}
	noSecret(t, s, d)
}
