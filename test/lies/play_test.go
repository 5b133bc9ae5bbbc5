package lies

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// flooded is the maximum length of a log line about an honest Node.
const flooded = 4 << 10

// A playResult is the result of a lie.
type playResult struct {
	// gained describes each gain.
	gained map[gain]string
	// mismatch describes the difference between the liar's Node and the expected outcome.
	mismatch error
}

// play plays a lie at a moment and deletes the liar's Node afterwards.
func (w *world) play(l *lie, at moment) playResult {
	w.t.Helper()
	w.advance()
	k := w.kubelet(l)
	logged := len(w.d.Log())
	defer w.remove("joins")
	defer w.remove(k.name)

	out := playResult{gained: map[gain]string{}}
	if err := w.send(k, l, at); err != nil {
		w.t.Fatalf("the API server rejects the lie: %.300v", err)
	}
	within := timeout
	if l.accepted[waiting] != "" {
		within = quietPeriod
	}
	// An impostor must precede the Nodes that compete for the same VM.
	if l.becomes == impostor {
		out.mismatch = w.becomes(k, l.becomes)
	}
	w.victims(out.gained, within)
	out.mismatch = cmp.Or(out.mismatch, w.becomes(k, l.becomes))
	w.recordGains(k, l, out.gained)
	for line := range strings.Lines(w.d.Log()[logged:]) {
		if len(line) > flooded {
			out.gained[flood] = fmt.Sprintf("%d bytes of %.100s", len(line), line)
		}
	}
	return out
}

// send registers the kubelet's Node with the lie and returns the API server's error.
func (w *world) send(k *kubelet, l *lie, at moment) error {
	w.t.Helper()
	n := k.node(k.name)
	if at == before {
		n.Status.NodeInfo.SystemUUID = unknownUUID
	}
	if at == registering {
		l.send(w, n)
		_, err := k.nodes.Create(w.ctx(), n, metav1.CreateOptions{})
		return err
	}
	if _, err := k.nodes.Create(w.ctx(), n, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("registering the Node without the lie: %v", err)
	}
	if at == running {
		if n := w.initialized(k.name, time.Minute); n == nil || !stack.Initialized(n) {
			w.t.Fatalf("Node %s is not initialized before the lie\n%s", k.name, tail(w.d.Log()))
		}
		w.restrict(k.name)
	}
	for {
		if err := w.rewrite(k, l); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// rewrite makes a kubelet change its Node: one request for metadata and spec, and one for the status.
func (w *world) rewrite(k *kubelet, l *lie) error {
	was, err := k.nodes.Get(w.ctx(), k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	n := was.DeepCopy()
	l.send(w, n)
	status := n.Status
	if !equality.Semantic.DeepEqual(was.Spec, n.Spec) || !equality.Semantic.DeepEqual(was.ObjectMeta, n.ObjectMeta) {
		if n, err = k.nodes.Update(w.ctx(), n, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(was.Status, status) {
		return nil
	}
	n.Status = status
	_, err = k.nodes.UpdateStatus(w.ctx(), n, metav1.UpdateOptions{})
	return err
}

// restrict sets a label that kubelets may not write, as an administrator.
func (w *world) restrict(node string) {
	w.t.Helper()
	for {
		n := w.get(node)
		n.Labels[restricted] = "public"
		_, err := w.s.Client.CoreV1().Nodes().Update(w.ctx(), n, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			w.t.Fatal(err)
		}
	}
}

// victims records the effects of the lie on other Nodes: a Node joins, a Node whose VM is gone becomes not ready,
// and running Nodes must not change.
func (w *world) victims(gained map[gain]string, within time.Duration) {
	w.t.Helper()
	joined := w.join(within)
	if joined == nil || !stack.Initialized(joined) {
		gained[waiting] = "Node joins is not initialized" + w.lastEvent("joins")
	} else {
		recordChanges(joined, w.truthful(), gained)
	}
	if err := w.s.Cluster.SetNodeReady(w.ctx(), w.gone.Name, v1.ConditionUnknown); err != nil {
		w.t.Fatal(err)
	}
	if err := w.await(timeout, func(nodes map[string]*v1.Node) error {
		if nodes[w.gone.Name] != nil {
			return fmt.Errorf("Node %s still exists, but its VM does not", w.gone.Name)
		}
		return nil
	}); err != nil {
		gained[keeping] = err.Error() + w.lastEvent(w.gone.Name)
		w.remove(w.gone.Name)
	}
	// The daemon has checked the Nodes that are not ready since the lie. Wait for two more checks.
	stays := map[string]*v1.Node{"runs": w.runs, "spared": w.spared}
	if w.certain {
		delete(stays, "spared")
	}
	_ = w.await(3*period, func(nodes map[string]*v1.Node) error {
		for name, was := range stays {
			if now := nodes[name]; now == nil || now.UID != was.UID {
				gained[deletion] = fmt.Sprintf("Node %s was deleted", name)
			} else {
				recordChanges(now, was, gained)
			}
		}
		if len(gained) > 0 {
			return nil
		}
		return errors.New("no effect")
	})
}

// lastEvent returns the daemon's last log line about a Node.
func (w *world) lastEvent(node string) string {
	last := ": no log line about it"
	for line := range strings.Lines(w.d.Log()) {
		if strings.Contains(line, node) {
			last = ": " + line
		}
	}
	return last
}

// recordChanges records the changes of a Node.
func recordChanges(now, was *v1.Node, gained map[gain]string) {
	note := func(g gain, what string, has, had any) {
		if !equality.Semantic.DeepEqual(has, had) {
			gained[g] = fmt.Sprintf("Node %s has %s %v, previously %v", was.Name, what, has, had)
		}
	}
	note(zone, "labels", now.Labels, was.Labels)
	note(addresses, "addresses", now.Status.Addresses, was.Status.Addresses)
	note(identity, "the provider ID", now.Spec.ProviderID, was.Spec.ProviderID)
	note(identity, "annotations", now.Annotations, was.Annotations)
	note(waiting, "taints", now.Spec.Taints, was.Spec.Taints)
}

// becomes waits until the liar's Node has the expected outcome.
func (w *world) becomes(k *kubelet, what outcome) error {
	w.t.Helper()
	own := w.vm("liar-vm")
	is := func(n *v1.Node) error {
		switch what {
		case waits, ignored:
			return untouched(n, what)
		case unlabeled:
			if n == nil || !stack.Initialized(n) || n.Labels[v1.LabelTopologyZone] != "" || n.Labels[leveled] != "" {
				return errors.New("it is gone, uninitialized, or labeled by vzones")
			}
			return nil
		case honest:
			return isOf(n, own)
		case reported:
			return w.isReported(k.name)
		case impostor:
			if n != nil && stack.Initialized(n) && !strings.HasSuffix(n.Spec.ProviderID, own.UUID) {
				return nil
			}
			return errors.New("it is not initialized with the VM that it names")
		}
		return fmt.Errorf("unknown outcome: %s", what)
	}
	return w.await(timeout, func(nodes map[string]*v1.Node) error { return is(nodes[k.name]) })
}

// untouched returns an error if vzones has written to a Node that it must not write to.
func untouched(n *v1.Node, what outcome) error {
	switch {
	case n == nil:
		return errors.New("it is gone")
	case stack.Initialized(n):
		return fmt.Errorf("it is initialized, with zone %q and addresses %v", n.Labels[v1.LabelTopologyZone], n.Status.Addresses)
	case n.Labels[v1.LabelTopologyZone] != "" || n.Labels[leveled] != "":
		return fmt.Errorf("its labels are %v", n.Labels)
	}
	for _, f := range n.ManagedFields {
		if what == ignored && strings.HasPrefix(f.Manager, "vsphere-cloud") {
			return fmt.Errorf("%s has written to it", f.Manager)
		}
	}
	return nil
}

// isOf returns an error unless a Node has the metadata of a VM.
func isOf(n *v1.Node, m fleet.VM) error {
	if n == nil {
		return errors.New("it is gone")
	}
	if !stack.Initialized(n) {
		return errors.New("it is uninitialized")
	}
	zone := m.VCenter + "-" + m.Cluster
	want := map[string]string{
		v1.LabelTopologyZone: zone, v1.LabelFailureDomainBetaZone: zone, v1.LabelTopologyRegion: m.VCenter, v1.LabelFailureDomainBetaRegion: m.VCenter,
		leveled: m.Cluster,
	}
	if n.Labels[restricted] != "" {
		want[restricted] = "public"
	}
	have := maps.Clone(n.Labels)
	maps.DeleteFunc(have, func(label, _ string) bool { _, there := want[label]; return !there })
	if !maps.Equal(have, want) {
		return fmt.Errorf("its labels are %v, want %v", have, want)
	}
	if id := n.Spec.ProviderID; id != "" && id != m.ProviderID() {
		return fmt.Errorf("its provider ID is %.100q, want %q", id, m.ProviderID())
	}
	if n.Spec.ProviderID == "" {
		// The Node was never initialized: vzones keeps its labels up to date and does not write its addresses.
		return nil
	}
	for _, a := range n.Status.Addresses {
		if a.Type != v1.NodeHostName && a.Address != m.IPs[0] {
			return fmt.Errorf("its addresses are %.300v, want %v", fmt.Sprint(n.Status.Addresses), m.IPs)
		}
	}
	return nil
}

// isReported checks for an Event about a Node whose labels do not match its VM.
func (w *world) isReported(node string) error {
	events, err := w.s.Client.CoreV1().Events("").List(w.ctx(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=TopologyDrift"})
	if err == nil && len(events.Items) == 0 {
		err = errors.New("it has no Event TopologyDrift")
	}
	return err
}

// recordGains records the effects of the lie on the liar's own Node.
func (w *world) recordGains(k *kubelet, l *lie, gained map[gain]string) {
	w.t.Helper()
	n := w.get(k.name)
	if n == nil {
		return
	}
	own := w.vm("liar-vm")
	if z := n.Labels[v1.LabelTopologyZone]; z != "" && z != "west-b" && l.becomes != reported && l.becomes != ignored {
		gained[ownZone] = fmt.Sprintf("it has zone %s, but its VM is in west-b", z)
	}
	if !stack.Initialized(n) || l.becomes == reported {
		// The provider ID and the addresses were written by the kubelet.
		return
	}
	if id := n.Spec.ProviderID; id != "" && id != own.ProviderID() {
		gained[identity] = "it is initialized with " + id
	}
	for _, victim := range []fleet.VM{runner(w), joiner(w)} {
		for _, a := range n.Status.Addresses {
			if a.Address == victim.IPs[0] {
				gained[addresses] = fmt.Sprintf("it has the address %s of %s", a.Address, victim.Name)
			}
		}
	}
}
