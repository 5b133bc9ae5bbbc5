package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider"
)

// A need is a right of a client, and what does not work without it. What is missing for a
// Secret, the Lease or the Nodes' informer is in errors of their own, again and again.
type need struct {
	right
	without string
}

// needs are those of the clients by their names; "" is that of the daemon's own
// credentials.
func needs(cfg *config.Config, port bool, own *v1.ObjectReference) map[string][]need {
	controller := frameworksClient()
	all := map[string][]need{
		controller: {
			{right{verb: "update", resource: "nodes"}, "no Node is initialized"},
			{right{verb: "patch", resource: "nodes"}, "no Node is marked as shut down or loses that mark"},
			{right{verb: "patch", resource: "nodes", sub: "status"}, "no Node gets addresses"},
			{right{verb: "create", resource: "events", namespace: v1.NamespaceDefault}, "Nodes get no Events of the framework"},
		},
		provider.ClientName: {
			{right{verb: "patch", resource: "nodes"}, "the labels and annotations of running Nodes are not written"},
			{right{verb: "create", resource: "events", namespace: v1.NamespaceDefault}, "no Event says why a Node waits"},
			{right{verb: "patch", resource: "events", namespace: v1.NamespaceDefault}, "an Event of a Node that repeats is not counted"},
		},
	}
	if !cfg.SkipNodeDeletion {
		all[controller] = append(all[controller], need{right{verb: "delete", resource: "nodes"}, "Nodes whose machine is gone stay"})
	}
	if own != nil {
		all[provider.ClientName] = append(all[provider.ClientName], need{
			right{verb: "create", resource: "events", namespace: own.Namespace}, "no Event on the daemon's Pod says that a configuration is refused",
		})
	}
	if port {
		all[""] = []need{
			{right{verb: "create", group: "authentication.k8s.io", resource: "tokenreviews"}, "nobody gets /metrics with a token"},
			{right{verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews"}, "nobody gets /metrics"},
		}
	}
	return all
}

// tellRights logs once what the roles of the cluster do not let the daemon do.
func tellRights(ctx context.Context, builder cloudprovider.ControllerClientBuilder, own kubernetes.Interface, all map[string][]need) {
	log := klog.FromContext(ctx)
	for _, name := range []string{"", frameworksClient(), provider.ClientName} {
		client := own
		if name != "" {
			var err error
			if client, err = builder.Client(name); err != nil {
				log.V(2).Info("Cannot tell which rights are missing", "client", name, "err", err)
				continue
			}
		}
		for _, n := range all[name] {
			allowed, err := n.allowed(ctx, client)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				log.V(2).Info("Cannot tell whether a right is missing", "right", n.String(), "err", err)
			case !allowed:
				log.Info(noRight, "right", n.String(), "without", n.without)
			}
		}
	}
}
