package check

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"vzones/topology"
)

// An error of listing CSINodes must not lead to a conclusion about the driver.
func TestDriver(t *testing.T) {
	node := func(driver string, keys ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"drivers": []any{map[string]any{"name": driver, "topologyKeys": keys}}}}}
	}
	const zone = topology.CSIDomain + "/k8s-zone"
	const host = "csi.vsphere.vmware.com/hostname"
	for name, c := range map[string]struct {
		nodes             []unstructured.Unstructured
		installed         bool
		denied            string
		noDriver, noZones bool
	}{
		"nothing":                     {noDriver: true, noZones: true},
		"another driver":              {nodes: []unstructured.Unstructured{node("other", zone)}, noDriver: true, noZones: true},
		"not registered yet":          {nodes: []unstructured.Unstructured{node("other")}, installed: true},
		"without zones":               {nodes: []unstructured.Unstructured{node(topology.CSIDriver, host)}, installed: true, noZones: true},
		"with zones on one Node":      {nodes: []unstructured.Unstructured{node(topology.CSIDriver, host), node(topology.CSIDriver, zone)}},
		"CSINodes may not be listed":  {denied: "csinodes"},
		"the driver may not be asked": {denied: "csidrivers"},
	} {
		client := fake.NewClientset()
		if c.installed {
			client = fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: topology.CSIDriver}})
		}
		forbidden := apierrors.NewForbidden(storagev1.Resource(c.denied), "", nil)
		client.PrependReactor("get", "csidrivers", func(k8stesting.Action) (bool, runtime.Object, error) {
			return c.denied == "csidrivers", nil, forbidden
		})
		all := copies{items: map[string][]unstructured.Unstructured{"csinodes": c.nodes}, errors: map[string]error{}}
		if c.denied == "csinodes" {
			all.errors["csinodes"] = forbidden
		}
		all.readDriver(t.Context(), client)
		if all.noDriver != c.noDriver || all.noZones != c.noZones {
			t.Errorf("%s: got no driver %t and no zones %t, want %t and %t", name, all.noDriver, all.noZones, c.noDriver, c.noZones)
		}
	}
}
