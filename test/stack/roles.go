package stack

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const clusterRole = "system:cloud-controller-manager"

// CPIPermissions are the permissions in the vSphere CPI's manifest that vzones does not need.
const CPIPermissions = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: of-the-cpi}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [services], verbs: [list, patch, update, watch]}
- {apiGroups: [""], resources: [serviceaccounts, endpoints], verbs: [create, get, list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: of-the-cpi}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: of-the-cpi}
subjects: [{kind: ServiceAccount, namespace: kube-system, name: cloud-controller-manager}]
`

// RemovePermission removes a resource from the rules of the manifest's ClusterRole. The returned function restores it.
func (s *Stack) RemovePermission(ctx context.Context, resource string) (restore func(context.Context) error, err error) {
	roles := s.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, clusterRole, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	savedRules := role.DeepCopy().Rules
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 && len(r.NonResourceURLs) == 0 })
	if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		role, err := roles.Get(ctx, clusterRole, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.Rules = savedRules
		_, err = roles.Update(ctx, role, metav1.UpdateOptions{})
		return err
	}, nil
}
