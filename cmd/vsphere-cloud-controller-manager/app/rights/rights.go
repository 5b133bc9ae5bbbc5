// Package rights finds out what the roles of the cluster do not let the daemon do, and logs
// it. It never grants anything.
package rights

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider"
)

// noRight is what the log says of a right that is missing.
const noRight = "A right is missing: grant it, as the manifest's roles do"

// Clients makes the client of a name.
type Clients interface {
	Client(name string) (kubernetes.Interface, error)
}

// frameworkClient returns the name of the client of the framework's controllers that run here.
func frameworkClient() string {
	return app.DefaultInitFuncConstructors[names.CloudNodeController].InitContext.ClientName
}

// A Need is a right of a client, and what does not work without it. Rights for a Secret, the
// Lease or the Nodes' informer are left out: without those, their own errors are repeated.
type Need struct {
	Right
	without string
}

// Needed returns the needs of the clients by their names; "" is the client with the daemon's
// own credentials. Port is whether that serves the secure port, and own the daemon's Pod, nil
// if it is not known.
func Needed(cfg *config.Config, port bool, own *v1.ObjectReference) map[string][]Need {
	controller := frameworkClient()
	all := map[string][]Need{
		controller: {
			{Right{Verb: "update", Resource: "nodes"}, "no Node is initialized"},
			{Right{Verb: "patch", Resource: "nodes"}, "no Node is marked as shut down or loses that mark"},
			{Right{Verb: "patch", Resource: "nodes", Subresource: "status"}, "no Node gets addresses"},
			{Right{Verb: "create", Resource: "events", Namespace: v1.NamespaceDefault}, "Nodes get no Events of the framework"},
		},
		provider.ClientName: {
			{Right{Verb: "patch", Resource: "nodes"}, "the labels and annotations of running Nodes are not written"},
			{Right{Verb: "patch", Resource: "nodes", Subresource: "status"}, "no Node gets the condition vzones/TopologyReady"},
			{Right{Verb: "create", Resource: "events", Namespace: v1.NamespaceDefault}, "no Event says why a Node waits"},
			{Right{Verb: "patch", Resource: "events", Namespace: v1.NamespaceDefault}, "an Event of a Node that repeats is not counted"},
		},
	}
	if !cfg.SkipNodeDeletion {
		all[controller] = append(all[controller], Need{Right{Verb: "delete", Resource: "nodes"}, "Nodes whose machine is gone stay"})
	}
	if own != nil {
		all[provider.ClientName] = append(all[provider.ClientName], Need{
			Right{Verb: "create", Resource: "events", Namespace: own.Namespace}, "no Event on the daemon's Pod says that a configuration is refused",
		})
	}
	if port {
		all[""] = []Need{
			{Right{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}, "nobody gets /metrics with a token"},
			{Right{Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, "nobody gets /metrics"},
		}
	}
	return all
}

// LogMissing logs each right once that the roles of the cluster do not give.
func LogMissing(ctx context.Context, builder Clients, own kubernetes.Interface, all map[string][]Need) {
	log := klog.FromContext(ctx)
	for _, name := range []string{"", frameworkClient(), provider.ClientName} {
		client := own
		if name != "" {
			var err error
			if client, err = builder.Client(name); err != nil {
				log.V(2).Info("Cannot find out which rights are missing", "client", name, "err", err)
				continue
			}
		}
		for _, n := range all[name] {
			allowed, err := n.Allowed(ctx, client)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				log.V(2).Info("Cannot find out whether a right is missing", "right", n.String(), "err", err)
			case !allowed:
				log.Info(noRight, "right", n.String(), "without", n.without)
			}
		}
	}
}
