// Package kubelet runs Pods of cloud controller managers without a kubelet and without
// images: each container is a process with a root folder of its own, which has the program,
// the volumes and the token of the ServiceAccount where the Pod says, and nothing else. Its
// network is the machine's, whatever the Pod says, and security contexts and limits have no
// effect. It takes Linux, and either root or the right to make user namespaces.
package kubelet
