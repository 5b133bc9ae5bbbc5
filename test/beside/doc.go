// Package beside runs the built daemon beside the cloud controller manager of another provider, in one cluster: the
// node controllers of k8s.io/cloud-provider with a small cloud. Random events happen to the Nodes of both. The API
// server's audit log shows who wrote what to which Node.
package beside
