package stack

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fleet"
)

// Reset prepares the stack for another fleet, much faster than a new control plane: it kills the daemons, deletes all
// Nodes, the Events about them and about the daemon's Pod, the daemon's Lease and the Secrets other than TheSecret, and
// replaces the fleet. After an error the stack can only be stopped.
func (s *Stack) Reset(ctx context.Context, description string) error {
	s.Env = nil
	var errs []error
	for _, d := range s.daemons {
		// A running daemon could record further Events about deleted Nodes.
		errs = append(errs, d.Kill())
	}
	errs = append(errs, s.killKubelets()...)
	everything := metav1.ListOptions{}
	options := metav1.DeleteOptions{}
	lease := s.Client.CoordinationV1().Leases(namespace).Delete(ctx, serviceAccount, options)
	if !apierrors.IsNotFound(lease) {
		errs = append(errs, lease)
	}
	errs = append(errs,
		s.Client.CoreV1().Nodes().DeleteCollection(ctx, options, everything),
		s.Client.CoreV1().Events(metav1.NamespaceDefault).DeleteCollection(ctx, options, everything),
		s.Client.CoreV1().Events(namespace).DeleteCollection(ctx, options, everything),
		s.revoke(ctx),
	)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.ReplaceFleet(ctx, description)
}

// ReplaceFleet replaces the fleet and the credentials in the Secret without a new control plane. No daemon may be
// running, because it would keep the old addresses. The description has the format of Options.Fleet.
func (s *Stack) ReplaceFleet(ctx context.Context, description string) error {
	spec, err := parseFleet(description)
	if err != nil {
		return err
	}
	s.Fleet.Close()
	f, err := fleet.Start(ctx, spec)
	if err != nil {
		return err
	}
	s.Fleet = f
	return s.WriteSecret(ctx)
}
