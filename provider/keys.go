package provider

// Keys of ours on Nodes. They are in running clusters: another name would make
// vzones forget what it wrote there, so none of them may ever change.
const (
	// machineKey is the annotation that says where a Node's machine was found
	// last: the name of the vCenter's entry, a slash, the managed object ID.
	machineKey = "vzones/machine"
)
