package stack

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
)

// awaitEvent waits until somebody has written an Event about an object of a kind in a
// namespace.
func awaitEvent(t *testing.T, s *Stack, namespace, kind, reason string) {
	t.Helper()
	var all []string
	for range 600 {
		list, err := s.Client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		for i := range list.Items {
			if e := &list.Items[i]; e.InvolvedObject.Kind == kind && e.Reason == reason {
				return
			}
			all = append(all, list.Items[i].InvolvedObject.Kind+" "+list.Items[i].Reason)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Errorf("no Event %s of a %s in %s: %q", reason, kind, namespace, all)
}

// TestRolesAreEnough: with the manifest's roles, without the rule that the
// manifest says to take out with skipDeletion, every Event is written and the API
// server refuses nothing.
func TestRolesAreEnough(t *testing.T) {
	s := start(t, pair)
	takeOut(t, s, "delete")
	config, err := s.WriteConfig(labels + "nodes: {skipDeletion: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config, "--leader-elect=true", "--v=4")
	if err != nil {
		t.Fatal(err)
	}
	west := s.Fleet.VCenter("west").Machines()
	if err := s.Register(t.Context(), west...); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]string{"gone": deadID, "waits": ""} {
		if _, err := s.Cluster.CreateNode(t.Context(), cluster.NodeSpec{Name: name, ProviderID: id, SystemUUID: "422e4956-dead-1139-6d72-59cc8f26bc90"}.Node()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Cluster.SetNodeReady(t.Context(), "gone", v1.ConditionUnknown); err != nil {
		t.Fatal(err)
	}
	initialized(t, s, d, west)
	awaitEvent(t, s, v1.NamespaceDefault, "Node", "MachineNotFound")
	awaitEvent(t, s, namespace, "Lease", "LeaderElection")
	if err := os.WriteFile(config, []byte("vcenter: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, s, namespace, "Pod", "ConfigurationRefused")
	<-time.After(12 * time.Second) // two rounds of the controller that deletes
	if _, err := s.Client.CoreV1().Nodes().Get(t.Context(), "gone", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := d.Stop(); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(d.Log()) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("refused: %.300s", line)
		}
	}
	list, err := s.Client.CoreV1().Events("").List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if ns := list.Items[i].Namespace; ns != v1.NamespaceDefault && ns != namespace {
			t.Errorf("an Event in %s", ns)
		}
	}
}

// takeOut removes the rule of the ClusterRole that has this verb and no other.
func takeOut(t *testing.T, s *Stack, verb string) {
	t.Helper()
	roles := s.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "system:cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := len(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Equal(r.Verbs, []string{verb}) })
	if len(role.Rules) != before-1 {
		t.Fatalf("%d of %d rules have the verb %s alone", before-len(role.Rules), before, verb)
	}
	if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
