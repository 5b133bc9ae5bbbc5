// Package lies plays kubelets that lie, in front of a real API server with the Node
// authorizer and the NodeRestriction admission plugin. It owns the table of what a kubelet
// may lie about and of what it gains by that, which is tested here and written into
// testdata/lies.txt. It never writes to a Node what the kubelet in question may not write:
// each lie goes through that kubelet's own credentials.
package lies
