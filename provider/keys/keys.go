// Package keys declares the keys of ours on Nodes. They are in running clusters:
// another name would make vzones forget what it wrote there, so none of them may
// ever change. All begin with vzones/, which the configuration refuses for labels.
package keys

const (
	// Machine is the annotation that says where a Node's machine was found last:
	// the name of the vCenter's entry, a slash, the managed object ID.
	Machine = "vzones/machine"
	// VCenter is the annotation that says which vCenter that was, by its own UUID.
	// It is written with Machine.
	VCenter = "vzones/vcenter"
	// Labels is the annotation that lists the labels of further levels that vzones
	// wrote, in order, with commas between them.
	Labels = "vzones/labels"
	// DriftTaint is the taint of a Node that is not where its labels say.
	DriftTaint = "vzones/topology-drift"
	// TopologyReady is the condition that says whether a Node's topology labels are those of
	// its machine's place.
	TopologyReady = "vzones/TopologyReady"
)
