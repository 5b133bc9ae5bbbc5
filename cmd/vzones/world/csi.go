package world

import (
	"context"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/topology"
)

// A CSIDriver is how the cluster uses the vSphere CSI driver.
type CSIDriver int

// The uses.
const (
	// CSIUnknown: there is no cluster, or it does not say.
	CSIUnknown CSIDriver = iota
	// CSINone: the cluster does not have the driver.
	CSINone
	// CSIAnywhere: the driver runs on Nodes, and reports the zone of none.
	CSIAnywhere
	// CSIZoned: the driver is there, and reports zones or has registered nowhere yet.
	CSIZoned
)

// CSIDriver asks the cluster whether the vSphere CSI driver runs there, by its CSIDriver object and by
// the CSINodes that it has registered in.
func (w *World) CSIDriver(ctx context.Context) CSIDriver {
	if w.Client == nil {
		return CSIUnknown
	}
	nodes, err := w.Client.StorageV1().CSINodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return CSIUnknown
	}
	registered := false
	for i := range nodes.Items {
		for _, d := range nodes.Items[i].Spec.Drivers {
			if d.Name != topology.CSIDriver {
				continue
			}
			if registered = true; reportsZones(&d) {
				return CSIZoned
			}
		}
	}
	if registered {
		return CSIAnywhere
	}
	_, err = w.Client.StorageV1().CSIDrivers().Get(ctx, topology.CSIDriver, metav1.GetOptions{})
	switch {
	case err == nil:
		return CSIZoned
	case apierrors.IsNotFound(err):
		return CSINone
	}
	return CSIUnknown
}

// reportsZones reports whether a driver has keys of zones: beside them it may have that of a host.
func reportsZones(d *storagev1.CSINodeDriver) bool {
	return slices.ContainsFunc(d.TopologyKeys, func(key string) bool {
		return strings.HasPrefix(key, topology.CSIDomain+"/")
	})
}
