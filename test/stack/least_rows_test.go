package stack

import (
	"maps"
	"slices"
)

// A leastRow says what a right of the manifest is for.
type leastRow struct {
	// who needs it.
	who string
	// fails are the exercises that fail without it; what may fail does or does not, by
	// when the daemon ends.
	fails, may []string
	// narrower says why less would not do.
	narrower string
	// env is a setting of the daemon: this one, with which it asks as an API server wants
	// it that does not stream lists.
	env string
	// repeated is a request that is made again and again instead, and what that means.
	repeated, late string
}

// The exercises that need Nodes, and those that need a leader.
var (
	ofNodes = []string{
		"a Node is initialized", "a Node gets its addresses", "a running Node's labels follow", "a machine that is off is shown",
		"a Node without a machine goes", "an Event is on a Node", "an Event of a Node is counted",
	}
	ofLeader = slices.Concat(ofNodes, []string{"the lease is held", "the lease is renewed", "a new password is used", "an Event is on the lease"})
	ofPods   = []string{"an Event is on the Pod", "an Event of the Pod is counted"}
)

// leastRows are the rows by the rights, as grantedRight.String names them.
var leastRows = map[string]leastRow{
	"nodes get": {
		who:      "the framework's node lifecycle controller, which reads a Node before it sets or takes the taint of a machine that is off",
		fails:    []string{"a machine that is off is shown"},
		narrower: "Nodes come and go: their names are not known in advance",
	},
	"nodes list": {
		who:      "the informer that all controllers share, where the API server does not stream lists, and where a stream breaks",
		fails:    ofNodes,
		narrower: "all Nodes have to be seen, to find those that wait",
		env:      "KUBE_FEATURE_WatchListClient=false",
	},
	"nodes watch": {
		who:      "the same informer",
		may:      ofNodes,
		narrower: "all Nodes have to be seen, to find those that wait",
		repeated: "nodes list",
		late:     "all Nodes are listed again and again, ever later, so that it is heard late of each change",
	},
	"nodes update": {
		who:      "the framework's node controller, which writes labels and provider ID and takes the taint off in one update",
		fails:    []string{"a Node is initialized", "a Node gets its addresses", "a running Node's labels follow", "a machine that is off is shown", "an Event of a Node is counted"},
		may:      []string{"an Event is on a Node"},
		narrower: "the framework calls update, not patch, and a provider cannot choose; RBAC knows no fields",
	},
	"nodes patch": {
		who:      "the topology controller for labels and annotations of running Nodes, the framework for the taint of a machine that is off",
		fails:    []string{"a running Node's labels follow", "a machine that is off is shown", "an Event of a Node is counted"},
		narrower: "update would do for neither: both send a patch, so that another writer's change is not lost",
	},
	"nodes/status patch": {
		who:      "the framework's node controller, for addresses, and the topology controller, for the condition vzones/TopologyReady",
		fails:    []string{"a Node gets its addresses"},
		narrower: "it is the subresource alone, and no update",
	},
	"nodes delete": {
		who:      "the framework's node lifecycle controller",
		fails:    []string{"a Node without a machine goes"},
		narrower: "names are not known in advance; take the rule out with nodes.skipDeletion: true",
	},
	"kube-system leases create": {
		who:      "leader election, once in the life of a cluster",
		fails:    ofLeader,
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"kube-system leases get": {
		who:      "leader election",
		fails:    ofLeader,
		narrower: "it is one Lease by its name",
	},
	"kube-system leases update": {
		who:      "leader election: the leader renews, a standby takes over",
		fails:    []string{"the lease is renewed"},
		may:      slices.Concat(ofLeader, ofPods, []string{"a token gets /metrics", "a certificate gets /metrics"}),
		narrower: "it is one Lease by its name; the client library calls update",
	},
	"kube-system secrets list": {
		who:      "the credentials at the start, where the API server does not stream lists",
		fails:    append(slices.Clone(ofNodes), "a new password is used"),
		narrower: "each Secret by its name, in lists and watches of that name alone; get is not granted",
		env:      "KUBE_FEATURE_WatchListClient=false",
	},
	"kube-system secrets watch": {
		who:      "the credentials, when they change",
		may:      []string{"a new password is used"},
		narrower: "each Secret by its name",
		late:     "the Secret is listed again and again, ever later, so that a new password is noticed late",
	},
	"kube-system events create": {
		who:      "Events of the Lease and of the daemon's Pod",
		fails:    append(slices.Clone(ofPods), "an Event is on the lease"),
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"kube-system events patch": {
		who:      "an Event of the Pod that comes again, and is counted",
		fails:    []string{"an Event of the Pod is counted"},
		narrower: "names of Events are made up",
	},
	"default events create": {
		who:      "Events of Nodes, which Kubernetes has in this namespace",
		fails:    []string{"an Event is on a Node", "an Event of a Node is counted"},
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"default events patch": {
		who:      "an Event of a Node that comes again, and is counted",
		fails:    []string{"an Event of a Node is counted"},
		narrower: "names of Events are made up",
	},
	"RoleBinding system:cloud-controller-manager:authentication-reader": {
		who:      "the port, which reads at the start which authorities sign clients' certificates",
		fails:    slices.Sorted(maps.Keys(exercises)),
		narrower: "it is Kubernetes' own Role for one ConfigMap",
	},
	"ClusterRoleBinding system:cloud-controller-manager:auth-delegator": {
		who:      "the port, which asks the API server whose a token is and whether they may get /metrics",
		fails:    []string{"a token gets /metrics"},
		narrower: "it is Kubernetes' own ClusterRole with the two reviews; they are not in a namespace",
	},
}
