package app

import (
	"testing"

	"k8s.io/cloud-provider/app"
	genericapp "k8s.io/controller-manager/app"
)

// TestTopologyControllerCanBeSwitchedOff: it is one of --controllers, on unless said
// otherwise, with the incumbent's client, to which platforms bind roles.
func TestTopologyControllerCanBeSwitchedOff(t *testing.T) {
	all := New(nil, Options{}).controllers(t.Context())
	if c := all["topology-controller"]; c.Constructor == nil || c.InitContext.ClientName != "vsphere-cloud-controller-manager" {
		t.Fatalf("registered as %+v", c.InitContext)
	}
	for flag, on := range map[string]bool{
		"*": true, "topology-controller": true, "*,-topology-controller": false, "cloud-node,cloud-node-lifecycle": false,
	} {
		opts, err := parseFlags(t, "--controllers="+flag)
		if err != nil {
			t.Fatal(err)
		}
		got := genericapp.IsControllerEnabled("topology-controller", app.ControllersDisabledByDefault, opts.Generic.Controllers)
		if got != on {
			t.Errorf("--controllers=%s: on %t", flag, got)
		}
	}
	if opts, err := parseFlags(t); err != nil || !genericapp.IsControllerEnabled("topology-controller", app.ControllersDisabledByDefault, opts.Generic.Controllers) {
		t.Errorf("off by default: %v", err)
	}
}
