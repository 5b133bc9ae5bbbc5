// Package lies plays kubelets that lie, in front of a real API server with the Node
// authorizer and the NodeRestriction admission plugin. It owns the table of what a kubelet
// may lie about and of what it gains by that. It never writes to a Node what the kubelet in
// question may not write: each lie goes through that kubelet's own credentials.
//
// It also plays vCenters whose answers are to take the daemon's memory, beside an honest one.
package lies
