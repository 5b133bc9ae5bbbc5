package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/internal/survey"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// pageSize is how many Nodes are listed at a time.
const pageSize = 1000

// readNodes lists the Nodes, or makes them of the machines that were asked for.
func (w *World) readNodes(ctx context.Context, f *Flags) error {
	switch {
	case f.withoutCluster():
		w.standIns = true
		return w.addMachines(f)
	case w.Client == nil:
		return nil
	}
	nodes, err := w.listNodes(ctx)
	if f.NodesOptional && apierrors.IsForbidden(err) {
		w.NoNodes = err
		return nil
	}
	w.Nodes, w.listed = nodes, true
	return err
}

// listNodes lists the Nodes of the cluster, by name.
func (w *World) listNodes(ctx context.Context) ([]*v1.Node, error) {
	opts := metav1.ListOptions{Limit: pageSize}
	var nodes []*v1.Node
	for {
		page, err := w.Client.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("listing the Nodes: %w", err)
		}
		for i := range page.Items {
			nodes = append(nodes, &page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	slices.SortFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// follow has the placer know all Nodes, and the vCenters follow their machines.
func (w *World) follow() {
	w.know()
	w.fleet.Follow(w.followed)
}

// know has the placer know all Nodes, and notes their machines.
func (w *World) know() {
	fill(w.Placer, w.Nodes)
	w.followed = w.wanted(w)
}

// standIn returns a Node that waits. Only such a one is looked for by its name.
func standIn(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	return n
}

// addMachines adds Nodes that say of themselves what --uuid and --vm ask for.
func (w *World) addMachines(f *Flags) error {
	for _, text := range f.UUIDs {
		u, err := inventory.ParseUUID(strings.TrimPrefix(text, "vsphere://"))
		if err != nil {
			return fmt.Errorf("--uuid: %w", err)
		}
		n := standIn(u.String())
		n.Status.NodeInfo.SystemUUID = u.String() // in either byte order
		w.Nodes = append(w.Nodes, n)
	}
	for _, name := range f.Machines {
		if name == "" {
			return errors.New("--vm is empty: write the name of a machine")
		}
		w.Nodes = append(w.Nodes, standIn(name))
	}
	w.Nodes = withoutCopies(w.Nodes)
	return nil
}

// withoutCopies returns Nodes without those that are called as one before.
func withoutCopies(nodes []*v1.Node) []*v1.Node {
	seen := map[string]bool{}
	return slices.DeleteFunc(nodes, func(n *v1.Node) bool {
		again := seen[n.Name]
		seen[n.Name] = true
		return again
	})
}

// addFolder adds Nodes for the machines below an inventory path, of each vCenter that has it. Templates
// are none. A vCenter that was not read fails here only if no other one has the path.
func (w *World) addFolder(ctx context.Context, folder string) error {
	var failed []error
	missing, unread := 0, 0
	for i, s := range w.Survey(ctx, survey.Query{Folder: folder}) {
		err := cmp.Or(s.Err, s.MachinesErr)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		case errors.Is(err, survey.ErrNoFolder):
			missing++
		case err != nil && w.States[i].Err != nil:
			err = w.States[i].Err
			unread++
		}
		if err != nil {
			failed = append(failed, err)
		}
		w.addFound(s.Machines)
	}
	if len(failed) == len(w.States) || len(failed) > missing+unread {
		return fmt.Errorf("--folder: %w", quote.Errors(quote.Most, failed...))
	}
	w.nameApart()
	slices.SortFunc(w.Nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// addFound adds Nodes for machines of a folder.
func (w *World) addFound(machines map[string]*survey.Machine) {
	for _, m := range machines {
		if m.Template {
			continue
		}
		n := standIn(m.Name)
		if m.UUID != "" {
			n.Status.NodeInfo.SystemUUID = m.UUID
			n.UID = types.UID(m.VCenter + ":" + m.ID)
		}
		w.Nodes = append(w.Nodes, n)
	}
}

// nameApart gives Nodes of machines with one name names of their own: behind it comes the UUID.
func (w *World) nameApart() {
	count := map[string]int{}
	for _, n := range w.Nodes {
		count[n.Name]++
	}
	for _, n := range w.Nodes {
		if u := n.Status.NodeInfo.SystemUUID; u != "" && count[n.Name] > 1 {
			n.Name += "/" + u
		}
	}
	w.Nodes = withoutCopies(w.Nodes)
}
