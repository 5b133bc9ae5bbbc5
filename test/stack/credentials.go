package stack

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"vzones/test/fleet"
)

// TheSecret returns the Secret in the configuration that the manifest's role permits the daemon to read.
func TheSecret() types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: secretName}
}

// Credentials returns a vCenter's current credentials as keys of a Secret.
func Credentials(v *fleet.VCenter) map[string][]byte {
	return map[string][]byte{
		v.Host() + ".username": []byte(v.User()),
		v.Host() + ".password": []byte(v.Password()),
	}
}

// WriteSecret replaces the content of TheSecret with the credentials of all vCenters.
func (s *Stack) WriteSecret(ctx context.Context) error {
	data := map[string][]byte{}
	for _, v := range s.Fleet.VCenters() {
		maps.Copy(data, Credentials(v))
	}
	return s.PutSecret(ctx, TheSecret(), data)
}

// Secret returns the content of a Secret, nil if it does not exist.
func (s *Stack) Secret(ctx context.Context, name types.NamespacedName) (map[string][]byte, error) {
	secret, err := s.Client.CoreV1().Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// PutSecret creates a Secret or replaces its content, and permits the daemon to read it. The permission for a Secret
// other than TheSecret lasts until Reset.
func (s *Stack) PutSecret(ctx context.Context, name types.NamespacedName, data map[string][]byte) error {
	if name != TheSecret() {
		if err := s.grant(ctx, name); err != nil {
			return err
		}
	}
	secrets := s.Client.CoreV1().Secrets(name.Namespace)
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace}, Data: data}
	_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	return err
}

// TouchSecret changes a Secret's metadata only.
func (s *Stack) TouchSecret(ctx context.Context, name types.NamespacedName) error {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"touched": %q}}}`, time.Now())
	_, err := s.Client.CoreV1().Secrets(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// DeleteSecret deletes a Secret. The permission to read it stays.
func (s *Stack) DeleteSecret(ctx context.Context, name types.NamespacedName) error {
	return s.Client.CoreV1().Secrets(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{})
}

// grant permits the daemon to read a further Secret, like its administrator, and creates a missing namespace.
func (s *Stack) grant(ctx context.Context, name types.NamespacedName) error {
	meta := metav1.ObjectMeta{Name: "read-" + name.Name, Namespace: name.Namespace}
	_, space := s.Client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name.Namespace}}, metav1.CreateOptions{})
	if space != nil && !apierrors.IsAlreadyExists(space) {
		return space
	}
	_, err := s.Client.RbacV1().Roles(name.Namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name.Name}, Verbs: []string{"list", "watch"},
		}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.granted = append(s.granted, name)
	_, err = s.Client.RbacV1().RoleBindings(name.Namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: serviceAccount}},
	}, metav1.CreateOptions{})
	return err
}

// revoke deletes the further Secrets and the permissions to read them.
func (s *Stack) revoke(ctx context.Context) error {
	options := metav1.DeleteOptions{}
	for _, name := range s.granted {
		role := "read-" + name.Name
		for _, err := range []error{
			s.Client.RbacV1().RoleBindings(name.Namespace).Delete(ctx, role, options),
			s.Client.RbacV1().Roles(name.Namespace).Delete(ctx, role, options),
			s.DeleteSecret(ctx, name),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	s.granted = nil
	return nil
}

// Token returns the daemons' token for the API server.
func (s *Stack) Token() (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return "", err
	}
	return config.BearerToken, nil
}
