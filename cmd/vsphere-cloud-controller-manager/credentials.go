package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter"
)

// secretReader takes credentials from the Secret that the configuration names
// and from the configuration itself where the Secret has none for the vCenter.
type secretReader struct {
	client kubernetes.Interface
}

func (r *secretReader) credentials(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	if cfg.Secret == (config.SecretRef{}) {
		return vcenter.FromFile(ctx, cfg)
	}
	where := cfg.Secret.Namespace + "/" + cfg.Secret.Name
	// client-go logs the bodies of responses at -v=8 and above.
	quiet := klog.NewContext(ctx, logr.Discard())
	if klog.FromContext(quiet).V(8).Enabled() {
		return vcenter.Credentials{}, fmt.Errorf("the Secret %s is not read, since it would be logged: switch the feature gate ContextualLogging on or set -v to less than 8", where)
	}
	s, err := r.client.CoreV1().Secrets(cfg.Secret.Namespace).Get(quiet, cfg.Secret.Name, metav1.GetOptions{})
	hasOwn := cfg.User != "" && !cfg.Password.IsEmpty()
	if apierrors.IsNotFound(err) && hasOwn {
		return vcenter.FromFile(ctx, cfg)
	}
	if err != nil {
		return vcenter.Credentials{}, fmt.Errorf("reading Secret %s: %w", where, err)
	}
	user, password := s.Data[cfg.Server+".username"], s.Data[cfg.Server+".password"]
	if len(user) > 0 && len(password) > 0 {
		return vcenter.Credentials{User: string(user), Password: config.NewPassword(string(password))}, nil
	}
	if hasOwn {
		return vcenter.FromFile(ctx, cfg)
	}
	return vcenter.Credentials{}, fmt.Errorf("the Secret %s has no keys %q and %q", where, cfg.Server+".username", cfg.Server+".password")
}
