package stack

import (
	"maps"
	"slices"

	"vzones/provider/nodeinfo"
)

// A leastRow documents one permission of the manifest.
type leastRow struct {
	// who is the component that needs the permission.
	who string
	// fails are the exercises that fail without it. Those in may fail or not, depending on when the
	// daemon exits.
	fails, may []string
	// narrower is the reason that a narrower permission does not suffice.
	narrower string
	// env is an environment variable of the daemon that makes it need the permission, as with an API
	// server that does not stream lists.
	env string
	// repeated is a request that is retried instead, and late the consequence.
	repeated, late string
}

// Exercises that depend on Nodes, on the leader, and on the Pod.
var (
	ofNodes = []string{
		"the initialization of Nodes", "the addresses of Nodes", "label changes of running Nodes", "the taint of a VM that is off",
		"the deletion of Nodes", "Events of Nodes", "repeated Events of a Node",
	}
	ofLeader = slices.Concat(ofNodes, []string{"taking the Lease", "renewing the Lease", "the use of a new password", "Events of the Lease"})
	ofPods   = []string{"Events of the daemon's Pod", "repeated Events of the Pod"}
)

// leastRows maps grantedRight.String to the documentation.
var leastRows = map[string]leastRow{
	"nodes get": {
		who:      "the framework's node lifecycle controller, before it adds or removes the taint of a VM that is off",
		fails:    []string{"the taint of a VM that is off"},
		narrower: "Nodes come and go: their names are not known in advance",
	},
	"nodes list": {
		who:      "the informer of all controllers, if the API server does not stream lists or a stream breaks",
		fails:    ofNodes,
		narrower: "the controllers must see all Nodes to find uninitialized Nodes",
		env:      "KUBE_FEATURE_WatchListClient=false",
	},
	"nodes watch": {
		who:      "the informer of all controllers",
		may:      ofNodes,
		narrower: "the controllers must see all Nodes to find uninitialized Nodes",
		repeated: "nodes list",
		late:     "prompt reactions to Node changes: all Nodes are relisted after growing delays",
	},
	"nodes update": {
		who:      "the framework's node controller, which writes labels and provider ID and removes the taint in one update",
		fails:    []string{"the initialization of Nodes", "the addresses of Nodes", "label changes of running Nodes", "the taint of a VM that is off", "repeated Events of a Node"},
		may:      []string{"Events of Nodes"},
		narrower: "the framework calls update, not patch, and a provider cannot choose; RBAC cannot limit fields",
	},
	"nodes patch": {
		who:      "the topology controller, for labels and annotations of running Nodes, and the framework, for the taint of a VM that is off",
		fails:    []string{"label changes of running Nodes", "the taint of a VM that is off", "repeated Events of a Node"},
		narrower: "update is not enough for either: both send a patch, so that another writer's change is not lost",
	},
	"nodes/status patch": {
		who:      "the framework's node controller, for addresses, and the topology controller, for the condition " + nodeinfo.TopologyReady,
		fails:    []string{"the addresses of Nodes"},
		narrower: "only the subresource, and not update",
	},
	"nodes delete": {
		who:      "the framework's node lifecycle controller",
		fails:    []string{"the deletion of Nodes"},
		narrower: "names are not known in advance; remove the rule with nodes.skipDeletion: true",
	},
	"kube-system leases create": {
		who:      "leader election, once in the life of a cluster",
		fails:    ofLeader,
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"kube-system leases get": {
		who:      "leader election",
		fails:    ofLeader,
		narrower: "only one Lease, by name",
	},
	"kube-system leases update": {
		who:      "leader election: the leader renews, a standby takes over",
		fails:    []string{"renewing the Lease"},
		may:      slices.Concat(ofLeader, ofPods, []string{"/metrics with a token", "/metrics with a certificate"}),
		narrower: "only one Lease, by name; the client library calls update",
	},
	"kube-system secrets list": {
		who:      "reading the credentials at the start, if the API server does not stream lists",
		fails:    append(slices.Clone(ofNodes), "the use of a new password"),
		narrower: "each Secret by name, only in lists and watches of that name; get is not granted",
		env:      "KUBE_FEATURE_WatchListClient=false",
	},
	"kube-system secrets watch": {
		who:      "reading changed credentials",
		may:      []string{"the use of a new password"},
		narrower: "each Secret by name",
		late:     "prompt use of a new password: the Secret is relisted after growing delays",
	},
	"kube-system events create": {
		who:      "Events of the Lease and of the daemon's Pod",
		fails:    append(slices.Clone(ofPods), "Events of the Lease"),
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"kube-system events patch": {
		who:      "the update of a repeated Event of the Pod",
		fails:    []string{"repeated Events of the Pod"},
		narrower: "names of Events are generated",
	},
	"default events create": {
		who:      "Events of Nodes, recorded in this namespace",
		fails:    []string{"Events of Nodes", "repeated Events of a Node"},
		narrower: "RBAC cannot limit create to a name; the Role is in one namespace",
	},
	"default events patch": {
		who:      "the update of a repeated Event of a Node",
		fails:    []string{"repeated Events of a Node"},
		narrower: "names of Events are generated",
	},
	"RoleBinding system:cloud-controller-manager:authentication-reader": {
		who:      "the secure port, which reads the CAs of client certificates at the start",
		fails:    slices.Sorted(maps.Keys(exercises)),
		narrower: "Kubernetes' own Role for one ConfigMap",
	},
	"ClusterRoleBinding system:cloud-controller-manager:auth-delegator": {
		who:      "the secure port, which delegates authentication and authorization for /metrics to the API server",
		fails:    []string{"/metrics with a token"},
		narrower: "Kubernetes' own ClusterRole with the two reviews, which are not namespaced",
	},
}
