package audit

import (
	"context"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vzones/cmd/vzones/finding"
)

// auditCluster compares everything that the cluster has with the places of its Nodes.
func auditCluster(ctx context.Context, l *lists, ps *places, f *findings) error {
	l.audited = append(l.audited, Count{"Node", len(ps.all)})
	f.auditNodes(ps)
	if err := l.auditCSI(ctx, ps, f); err != nil {
		return err
	}
	all := &selectors{ps: ps}
	vs := volumes{}
	if err := l.auditVolumes(ctx, ps, all, vs, f); err != nil {
		return err
	}
	a := &pods{ps: ps, selectors: all, volumes: vs, spread: newSpread(ps), findings: f}
	_, err := read(ctx, l, "Pod", func(ctx context.Context, opts metav1.ListOptions) ([]v1.Pod, string, error) {
		page, err := l.core.CoreV1().Pods(metav1.NamespaceAll).List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.Continue, nil
	}, a.audit)
	if err != nil {
		return err
	}
	a.spread.audit(f)
	_, err = read(ctx, l, "EndpointSlice", func(ctx context.Context, opts metav1.ListOptions) ([]discoveryv1.EndpointSlice, string, error) {
		page, err := l.core.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.Continue, nil
	}, newEndpoints(ps, f).audit)
	if err != nil {
		return err
	}
	return l.auditClusterAPI(ctx, ps, f)
}

// auditCSI compares what the CSI driver and kubelet keep.
func (l *lists) auditCSI(ctx context.Context, ps *places, f *findings) error {
	var nodes []storagev1.CSINode
	_, err := read(ctx, l, "CSINode", func(ctx context.Context, opts metav1.ListOptions) ([]storagev1.CSINode, string, error) {
		page, err := l.core.StorageV1().CSINodes().List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.Continue, nil
	}, func(n *storagev1.CSINode) { nodes = append(nodes, *n) })
	if err != nil {
		return err
	}
	c := newCSI(ps, nodes)
	c.audit(f)
	_, err = l.custom(ctx, csiGroup, "csinodetopologies", "CSINodeTopology", func(o *unstructured.Unstructured) { c.auditTopology(f, o) })
	return err
}

// auditVolumes compares PersistentVolumes and StorageClasses.
func (l *lists) auditVolumes(ctx context.Context, ps *places, all *selectors, vs volumes, f *findings) error {
	_, err := read(ctx, l, "PersistentVolume", func(ctx context.Context, opts metav1.ListOptions) ([]v1.PersistentVolume, string, error) {
		page, err := l.core.CoreV1().PersistentVolumes().List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.Continue, nil
	}, func(pv *v1.PersistentVolume) { vs.audit(f, all, pv) })
	if err != nil {
		return err
	}
	_, err = read(ctx, l, "StorageClass", func(ctx context.Context, opts metav1.ListOptions) ([]storagev1.StorageClass, string, error) {
		page, err := l.core.StorageV1().StorageClasses().List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.Continue, nil
	}, func(class *storagev1.StorageClass) { f.auditClass(ps, class) })
	return err
}

// auditClusterAPI compares Machines. Their failure domains are read first.
func (l *lists) auditClusterAPI(ctx context.Context, ps *places, f *findings) error {
	c := newClusterAPI(ps)
	zones, domains := map[string]string{}, map[string]*unstructured.Unstructured{}
	c.zones = zones
	there, err := l.custom(ctx, vsphereGroup, "vspheredeploymentzones", "VSphereDeploymentZone", c.noteZone)
	if err != nil {
		return err
	}
	if !there {
		c.zones = nil
	}
	c.domains = domains
	there, err = l.custom(ctx, vsphereGroup, "vspherefailuredomains", "VSphereFailureDomain", c.noteDomain)
	if err != nil {
		return err
	}
	if !there {
		c.domains = nil
	}
	_, err = l.custom(ctx, machineGroup, "machines", "Machine", func(o *unstructured.Unstructured) { c.audit(f, finding.MachineZoneStale, o) })
	if err != nil {
		return err
	}
	_, err = l.custom(ctx, vsphereGroup, "vspheremachines", "VSphereMachine", func(o *unstructured.Unstructured) { c.audit(f, finding.VSphereMachineStale, o) })
	return err
}
