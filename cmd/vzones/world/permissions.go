package world

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/internal/quote"
)

// A Permission is one permission that the daemon needs in its cluster.
type Permission struct {
	// Namespace is empty for the whole cluster.
	Namespace       string
	Group, Resource string
	Subresource     string
	Verb            string
	// Name is empty for all objects.
	Name string
	// Without is the failure if the permission is missing.
	Without string
	// IsMinor reports whether Nodes are handled without the permission.
	IsMinor bool
}

// String returns the permission in the form of kubectl auth can-i.
func (p *Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Subresource != "" {
		text += "/" + p.Subresource
	}
	if p.Name != "" {
		text += " " + quote.Plain(p.Name)
	}
	if p.Namespace != "" {
		text += " in " + quote.Plain(p.Namespace)
	}
	return text
}

// attributes returns the access to review.
func (p *Permission) attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Namespace: p.Namespace, Group: p.Group, Resource: p.Resource, Subresource: p.Subresource, Verb: p.Verb, Name: p.Name,
	}
}

// What fails without a permission.
const (
	allWork    = "no work on Nodes"
	noElection = "no daemon becomes the leader"
	noMetrics  = "no /metrics with a token"
)

// Permissions returns the permissions that a daemon with a configuration and flags needs. With the defaults, these are
// the permissions of the manifest. namespace is the daemon's.
func Permissions(cfg *config.Config, flags *CommandLine, namespace string) []Permission {
	const leases = "coordination.k8s.io"
	all := []Permission{
		{Resource: "nodes", Verb: "get", Without: "no taint of a VM that is off"},
		{Resource: "nodes", Verb: "list", Without: allWork},
		{Resource: "nodes", Verb: "watch", Without: "late reactions to Node changes"},
		{Resource: "nodes", Verb: "update", Without: "no initialization of Nodes"},
		{Resource: "nodes", Verb: "patch", Without: "no label changes of running Nodes"},
		{Resource: "nodes", Subresource: "status", Verb: "patch", Without: "no addresses of Nodes"},
	}
	if !cfg.SkipNodeDeletion {
		all = append(all, Permission{Resource: "nodes", Verb: "delete", Without: "no deletion of Nodes"})
	}
	if flags.LeaderElect {
		all = append(all,
			Permission{Namespace: flags.LeaseNamespace, Group: leases, Resource: "leases", Verb: "create", Without: noElection},
			Permission{Namespace: flags.LeaseNamespace, Group: leases, Resource: "leases", Verb: "get", Name: flags.LeaseName, Without: noElection},
			Permission{Namespace: flags.LeaseNamespace, Group: leases, Resource: "leases", Verb: "update", Name: flags.LeaseName, Without: noElection},
		)
	}
	for _, secret := range secretsOf(cfg, flags) {
		all = append(all,
			Permission{Namespace: secret.Namespace, Resource: "secrets", Verb: "list", Name: secret.Name, Without: "no credentials"},
			Permission{Namespace: secret.Namespace, Resource: "secrets", Verb: "watch", Name: secret.Name, Without: "late use of changed credentials"},
		)
	}
	eventNamespaces := []string{namespace}
	if flags.LeaderElect {
		eventNamespaces = append(eventNamespaces, flags.LeaseNamespace)
	}
	// Events of Nodes are in the namespace default.
	eventNamespaces = append(eventNamespaces, metav1.NamespaceDefault)
	var seen []string
	for _, n := range eventNamespaces {
		if slices.Contains(seen, n) {
			continue
		}
		seen = append(seen, n)
		all = append(all,
			Permission{Namespace: n, Resource: "events", Verb: "create", Without: "no Events in " + n, IsMinor: true},
			Permission{Namespace: n, Resource: "events", Verb: "patch", Without: "no repeated Events in " + n, IsMinor: true},
		)
	}
	return append(all,
		Permission{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create", Without: noMetrics, IsMinor: true},
		Permission{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verb: "create", Without: noMetrics, IsMinor: true},
		Permission{Namespace: metav1.NamespaceSystem, Resource: "configmaps", Verb: "get", Name: "extension-apiserver-authentication", Without: "the daemon does not start"},
	)
}

// secretsOf returns the Secrets that the daemon reads, sorted.
func secretsOf(cfg *config.Config, flags *CommandLine) []config.SecretRef {
	var all []config.SecretRef
	for i := range cfg.VCenters {
		if ref := cfg.VCenters[i].Secret; ref.Name != "" {
			all = append(all, ref)
		}
	}
	where, _, _ := strings.Cut(flags.ConfigSecret, ":")
	if namespace, name, ok := strings.Cut(where, "/"); ok {
		all = append(all, config.SecretRef{Namespace: namespace, Name: name})
	}
	slices.SortFunc(all, func(a, b config.SecretRef) int {
		return strings.Compare(fmt.Sprint(a.Namespace, "/", a.Name), fmt.Sprint(b.Namespace, "/", b.Name))
	})
	return slices.Compact(all)
}
