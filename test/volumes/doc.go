// Package volumes measures how long the volume of a lost VM stays attached, with the real programs of Kubernetes: the API
// server, kube-scheduler, and kube-controller-manager with its default times. Its tests stand in for the kubelets, which
// report Nodes and Pods, and for the CSI driver's external attacher, which only answers VolumeAttachments.
package volumes
