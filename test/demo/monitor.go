package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// monitorName is that of the ServiceAccount of whoever reads the metrics.
const monitorName = "demo-monitor"

// monitor makes a ServiceAccount that may read the metrics of the control plane's components,
// and returns a token of it, good for a day.
func (d *demo) monitor(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	accounts := d.stack.Client.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: monitorName}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: monitorName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: monitorName}},
	}
	if _, err := d.stack.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	day := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	answer, err := accounts.CreateToken(ctx, monitorName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}
