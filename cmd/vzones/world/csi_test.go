package world

import (
	"errors"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"vzones/topology"
)

// TestCSIDriver: what a cluster says, and that nothing follows from what may not be asked.
func TestCSIDriver(t *testing.T) {
	node := func(driver string, keys ...string) runtime.Object {
		return &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: "node-" + driver},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, TopologyKeys: keys}}},
		}
	}
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: topology.CSIDriver}}
	const zone = topology.CSIDomain + "/k8s-zone"
	for name, c := range map[string]struct {
		objects []runtime.Object
		denied  string
		want    CSIDriver
	}{
		"nothing":                     {want: CSINone},
		"another driver":              {objects: []runtime.Object{node("other", zone)}, want: CSINone},
		"not registered yet":          {objects: []runtime.Object{object, node("other")}, want: CSIZoned},
		"without zones":               {objects: []runtime.Object{object, node(topology.CSIDriver, "csi.vsphere.vmware.com/hostname")}, want: CSIAnywhere},
		"with zones":                  {objects: []runtime.Object{node("other"), node(topology.CSIDriver, zone)}, want: CSIZoned},
		"CSINodes may not be listed":  {objects: []runtime.Object{object}, denied: "csinodes", want: CSIUnknown},
		"the driver may not be asked": {denied: "csidrivers", want: CSIUnknown},
		"what CSINodes say is enough": {objects: []runtime.Object{node(topology.CSIDriver, zone)}, denied: "csidrivers", want: CSIZoned},
	} {
		client := fake.NewClientset(c.objects...)
		client.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
			resource := a.GetResource()
			return resource.Resource == c.denied, nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New("no right"))
		})
		if got := (&World{Client: client}).CSIDriver(t.Context()); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (&World{}).CSIDriver(t.Context()); got != CSIUnknown {
		t.Errorf("without a cluster: %d", got)
	}
}
