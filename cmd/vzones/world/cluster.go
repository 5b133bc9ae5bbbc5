package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/vcenter/inventory"
)

// connect makes the client of the cluster, if one is needed.
func (w *World) connect(f *Flags) error {
	if f.withoutCluster() && !f.FromCluster {
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
	cfg, err := loaded.ClientConfig()
	switch {
	case err == nil:
	case clientcmd.IsEmptyConfig(err) && f.Need < Cluster && !f.FromCluster && f.Kubeconfig == "":
		if f.Need == NodesOrMachines {
			return errors.New("there is no kubeconfig: write --kubeconfig, or name machines with --uuid or --vm")
		}
		return nil
	default:
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst, cfg.Timeout = 50, 100, cmp.Or(f.Timeout, time.Minute)
	if w.Client, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	w.RESTConfig = cfg
	return nil
}

// pageSize is how many Nodes are listed at a time.
const pageSize = 1000

// readNodes lists the Nodes, or makes them of the machines that were asked for.
func (w *World) readNodes(ctx context.Context, f *Flags) error {
	switch {
	case f.Need == NoNodes:
		return nil
	case f.withoutCluster():
		w.standIns = true
		var err error
		w.Nodes, err = f.machines()
		return err
	case w.Client == nil:
		return nil
	}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := w.Client.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return fmt.Errorf("listing the Nodes: %w", err)
		}
		for i := range page.Items {
			w.Nodes = append(w.Nodes, &page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	slices.SortFunc(w.Nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// machines returns Nodes that wait, and say of themselves what was asked for. Only a Node that waits
// is looked for by its name.
func (f *Flags) machines() ([]*v1.Node, error) {
	var all []*v1.Node
	add := func(name string) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		if !slices.ContainsFunc(all, func(other *v1.Node) bool { return other.Name == name }) {
			all = append(all, n)
		}
		return n
	}
	for _, text := range f.UUIDs {
		u, err := inventory.ParseUUID(strings.TrimPrefix(text, "vsphere://"))
		if err != nil {
			return nil, fmt.Errorf("--uuid: %w", err)
		}
		add(u.String()).Status.NodeInfo.SystemUUID = u.String()
	}
	for _, name := range f.Machines {
		add(name)
	}
	return all, nil
}
