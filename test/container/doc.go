// Package container runs Pods of cloud controller managers and of vzones without a kubelet and without images. Each container is
// a process with its own root folder, which contains only the program, the volumes and the token of the
// ServiceAccount. It always uses the host network, and security contexts and resource limits have no effect. It
// requires Linux, and root or permission to create user namespaces.
package container
