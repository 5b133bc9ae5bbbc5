package stack

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/retry"

	"vzones/manifests"
)

// A grantedPermission is a verb on a resource in a role of the manifest, or the binding of a foreign role.
type grantedPermission struct {
	// kind, name and namespace identify the role or the binding.
	kind, name, namespace string
	group, resource, verb string
	names                 []string
	// role is the role of a binding.
	role string
}

// String returns the permission's key in leastRows: the role's namespace, the resource and the verb.
func (r grantedPermission) String() string {
	switch {
	case strings.HasSuffix(r.kind, "Binding"):
		return r.kind + " " + r.name
	case r.namespace == "":
		return r.resource + " " + r.verb
	}
	return r.namespace + " " + r.resource + " " + r.verb
}

// grantedPermissions returns all permissions in the manifest.
func grantedPermissions(t *testing.T) []grantedPermission {
	t.Helper()
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests.Plain)))
	var all []grantedPermission
	own := map[string]bool{}
	type binding struct {
		right grantedPermission
		key   string
	}
	var bindings []binding
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Rules    []rbacv1.PolicyRule
			RoleRef  rbacv1.RoleRef
		}
		if err := kyaml.Unmarshal(document, &o); err != nil {
			t.Fatal(err)
		}
		of := grantedPermission{kind: o.Kind, name: o.Metadata.Name, namespace: o.Metadata.Namespace, role: o.RoleRef.Name}
		switch o.Kind {
		case "ClusterRole", "Role":
			own[o.Kind+o.Metadata.Namespace+o.Metadata.Name] = true
			all = append(all, permissionsOf(t, of, o.Rules)...)
		case "ClusterRoleBinding":
			bindings = append(bindings, binding{of, o.RoleRef.Kind + o.RoleRef.Name})
		case "RoleBinding":
			bindings = append(bindings, binding{of, o.RoleRef.Kind + o.Metadata.Namespace + o.RoleRef.Name})
		}
	}
	for _, b := range bindings {
		if !own[b.key] {
			all = append(all, b.right)
		}
	}
	return all
}

func permissionsOf(t *testing.T, of grantedPermission, rules []rbacv1.PolicyRule) []grantedPermission {
	t.Helper()
	var all []grantedPermission
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.NonResourceURLs) > 0 || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") {
			t.Fatalf("%s %s: this test does not support the rule %v", of.kind, of.name, rule)
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				r := of
				r.group = rule.APIGroups[0]
				r.resource = resource
				r.verb = verb
				r.names = rule.ResourceNames
				all = append(all, r)
			}
		}
	}
	return all
}

// removePermission removes a permission from the daemon's ServiceAccount in the API server.
func removePermission(t *testing.T, s *Stack, r grantedPermission) {
	t.Helper()
	ctx := t.Context()
	rbac := s.Client.RbacV1()
	less := func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		var left []rbacv1.PolicyRule
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				one := rule
				one.Resources = []string{resource}
				one.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool {
					return verb == r.verb && resource == r.resource && rule.APIGroups[0] == r.group
				})
				if len(one.Verbs) > 0 {
					left = append(left, one)
				}
			}
		}
		return left
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		switch r.kind {
		case "ClusterRole":
			role, err := rbac.ClusterRoles().Get(ctx, r.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			role.Rules = less(role.Rules)
			_, err = rbac.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
			return err
		case "Role":
			role, err := rbac.Roles(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			role.Rules = less(role.Rules)
			_, err = rbac.Roles(r.namespace).Update(ctx, role, metav1.UpdateOptions{})
			return err
		case "ClusterRoleBinding":
			return rbac.ClusterRoleBindings().Delete(ctx, r.name, metav1.DeleteOptions{})
		}
		return rbac.RoleBindings(r.namespace).Delete(ctx, r.name, metav1.DeleteOptions{})
	})
	if err != nil {
		t.Fatal(err)
	}
	// The API server applies changed roles with a delay.
	<-time.After(300 * time.Millisecond)
}

// restorePermissions applies the manifest's roles and bindings.
func restorePermissions(t *testing.T, s *Stack) {
	t.Helper()
	rbac := func(kind string) bool { return strings.Contains(kind, "Role") }
	if err := s.Cluster.Apply(t.Context(), manifests.Plain, rbac); err != nil {
		t.Fatal(err)
	}
}
