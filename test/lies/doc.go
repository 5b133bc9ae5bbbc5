// Package lies plays dishonest kubelets in front of a real API server with the Node authorizer and the
// NodeRestriction admission plugin. It owns the table of the values that a kubelet can forge and of the resulting
// gains. Each lie is written with the kubelet's own credentials.
//
// It also plays hostile vCenters that try to exhaust the daemon's memory, next to an honest vCenter.
package lies
