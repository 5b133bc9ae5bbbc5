package finding

// The kinds about Nodes themselves.
var (
	NodeZoneStale = &Kind{"VZ301", Error, "a Node has the region or zone of another place",
		"Its machine has moved, or the tags have changed. New Pods and volumes are placed by the labels, so that they are where they should not be.",
		"Move the machine back, correct the tags, or let vzones write the labels (topology.drift: update)."}
	NodeZoneMissing = &Kind{"VZ302", Error, "a Node lacks its region or zone",
		"Pods that ask for the zone, or that have to be spread over zones, are not scheduled there.",
		"Let vzones write it: topology.backfill, which is on by default. It is not written beside a region or zone that is wrong."}
	NodeBetaStale = &Kind{"VZ303", Warning, "the beta label of a Node is not that of its zone",
		"The node controller of the framework writes the value of failure-domain.beta.kubernetes.io over topology.kubernetes.io. Old volumes select Nodes by the beta label.",
		"Write the value of the GA label into the beta label."}
	NodeLevelStale = &Kind{"VZ304", Warning, "a Node's label of a further level is missing or stale",
		"Pods that are spread by rack or host group, or tied to one, are placed by the old value.",
		"Move the machine back, correct the tags, or let vzones write the label (topology.drift: update)."}
	NodeLabelUnfounded = &Kind{"VZ305", Warning, "a Node has a region, zone or level that nothing gives it",
		"The tag was detached or its object left. The Node keeps the label, and other Nodes of the place do not get it.",
		"Attach the tag again, or remove the label by hand. vzones removes labels of further levels that it wrote, and never region and zone."}
	NodeNotKnown = &Kind{"VZ306", Warning, "it is not known where a Node is",
		"Its vCenter cannot be read, or its machine or tags are not certain. Copies of the Node's zone were not compared.",
		"Run vzones check, which says what to do, and audit again."}
)

// The kinds about what the vSphere CSI driver and kubelet keep.
var (
	CSILabelStale = &Kind{"VZ311", Error, "the CSI driver's label of a Node is stale",
		"The driver read the tags when its node plugin registered. New volumes of Pods on the Node are provisioned for the old place, and Pods with volumes of the new place are not scheduled there.",
		"Delete the Node's CSINodeTopology and restart the Pod of the node plugin there. kubelet refuses to change the values: drain the Node and delete its topology.csi.vmware.com labels first."}
	CSILabelMissing = &Kind{"VZ312", Error, "a Node lacks a label that its CSINode names",
		"No volume can be provisioned for a Pod on the Node, and no Pod with a volume of a zone is scheduled there.",
		"Restart the Pod of the node plugin on the Node: kubelet writes the labels when the driver registers."}
	CSINodeWithoutKey = &Kind{"VZ313", Error, "a CSINode lacks a topology key that other Nodes have",
		"The node plugin registered before its categories were configured. Volumes are not provisioned by zone for Pods on the Node.",
		"Restart the Pod of the node plugin on the Node, and compare the driver's topology-categories."}
	CSITopologyStale = &Kind{"VZ314", Error, "a CSINodeTopology is stale",
		"The node plugin takes its values when it registers next, without a look into vCenter, and the driver's controller finds the Nodes of a zone by them.",
		"Delete it and restart the Pod of the node plugin on the Node."}
	CSITopologyFailed = &Kind{"VZ315", Error, "the CSI driver could not read a Node's topology",
		"The node plugin does not register on the Node, or serves no zone: no Pod with a volume starts there.",
		"Do what its errorMessage says, delete the CSINodeTopology, and restart the Pod of the node plugin on the Node."}
	CSITopologyGone = &Kind{"VZ316", Warning, "the CSI driver would find no topology for a Node",
		"A tag of one of the driver's categories is gone above the machine's host. What the Node has still holds, and its node plugin fails at its next registration.",
		"Attach a tag of each category to the host, the cluster, the datacenter or a folder above it."}
)

// The kinds about volumes.
var (
	VolumeWithoutNode = &Kind{"VZ321", Error, "no Node has the zone of a volume",
		"Pods with the volume cannot be scheduled. A tag was renamed, or the last Node of the zone is gone. The node affinity of a PersistentVolume cannot be changed.",
		"Give the tag its old name back, or add a Node to the zone. Otherwise restore the data into a new volume."}
	VolumeZoneStale = &Kind{"VZ322", Warning, "a volume's zone exists only in stale labels",
		"The Nodes that the volume can be used on are elsewhere by now. Once their labels are right, Pods with the volume cannot be scheduled.",
		"Decide before the labels are corrected: give the tag its old name back, move machines back, or restore the data into a new volume."}
	VolumeZoneOther = &Kind{"VZ323", Error, "a Pod runs outside of the zone of its volume",
		"Its machine has moved, or the Node's labels have changed, since the Pod was scheduled. The Pod cannot come back to this Node, and the storage may be farther away or unreachable.",
		"Move the machine back. Or delete the Pod, so that it starts in the zone of the volume."}
	ClassZoneGone = &Kind{"VZ331", Error, "no Node has what a StorageClass allows",
		"No volume can be provisioned with the class: the zones of its allowedTopologies are those of no Node.",
		"Create the StorageClass again with zones that exist. allowedTopologies cannot be changed."}
	ClassZoneUnknown = &Kind{"VZ332", Warning, "a StorageClass allows a zone that no Node has",
		"Volumes are provisioned in the other zones only. A tag was renamed, or the last Node of the zone is gone.",
		"Create the StorageClass again with zones that exist. allowedTopologies cannot be changed."}
)

// The kinds about Pods and the endpoints of Services.
var (
	PodLabelStale = &Kind{"VZ341", Warning, "a Pod's own region or zone label is stale",
		"The API server copies the Node's labels when a Pod is bound (Kubernetes 1.35 and later), and never again. What reads them through the downward API, or selects Pods by zone, is wrong.",
		"Replace the Pod through its controller."}
	PodOutside = &Kind{"VZ342", Warning, "a Pod runs outside of the zone that it requires",
		"Its nodeSelector or node affinity held when it was scheduled, and the place of the Node has changed since. It goes on running there, and a new one starts elsewhere.",
		"Move the machine back. Or delete the Pod, so that another one starts where it belongs."}
	PodUnschedulable = &Kind{"VZ343", Error, "no Node has the zone that a Pod requires",
		"The Pod stays Pending.",
		"Write a zone that exists into the Pod's template, or give the tag its old name back."}
	PodsUneven = &Kind{"VZ344", Warning, "Pods are spread unevenly, and stale labels hide it",
		"By the labels of the Nodes the spread is as the Pods demand (maxSkew). By where the machines are it is not: the failure of one zone takes more Pods than intended.",
		"Correct the labels of the Nodes, then restart the rollout: the scheduler moves no running Pods."}
	SliceZoneStale = &Kind{"VZ351", Warning, "endpoints of a Service have a stale zone",
		"The controller does not look again when a Node's labels change. Services with trafficDistribution take endpoints of another zone for near ones.",
		"Correct the Node's labels, then change the Service, for example an annotation: its EndpointSlices are written again."}
	SliceHintStale = &Kind{"VZ352", Warning, "endpoints are hinted for a zone that no Node has",
		"As long as other endpoints are hinted for its zone, no kube-proxy uses these.",
		"Change the Service, for example an annotation: its EndpointSlices are written again."}
)

// The kinds about Cluster API.
var (
	MachineZoneStale = &Kind{"VZ361", Warning, "a Machine's failure domain is not where its Node is",
		"Cluster API spreads Machines by what was asked for when they were created, so that its zones are less even than it believes.",
		"Move the machine back. If it has moved for good, delete the Machine, so that another one is created in the failure domain."}
	VSphereMachineStale = &Kind{"VZ362", Warning, "a VSphereMachine's failure domain is not where its Node is",
		"It is a copy of the Machine's failure domain from when the machine was cloned.",
		"Do what is needed for its Machine: both are replaced together."}
	FailureDomainGone = &Kind{"VZ363", Warning, "a Machine names a failure domain that does not exist",
		"Its VSphereDeploymentZone or VSphereFailureDomain was deleted or renamed. The Machine is not recreated there.",
		"Create the failure domain again, or replace the Machine."}
)

// AuditKinds returns the kinds of vzones audit, by ID.
func AuditKinds() []*Kind {
	return []*Kind{
		NodeZoneStale, NodeZoneMissing, NodeBetaStale, NodeLevelStale, NodeLabelUnfounded, NodeNotKnown,
		CSILabelStale, CSILabelMissing, CSINodeWithoutKey, CSITopologyStale, CSITopologyFailed, CSITopologyGone,
		VolumeWithoutNode, VolumeZoneStale, VolumeZoneOther, ClassZoneGone, ClassZoneUnknown,
		PodLabelStale, PodOutside, PodUnschedulable, PodsUneven, SliceZoneStale, SliceHintStale,
		MachineZoneStale, VSphereMachineStale, FailureDomainGone,
	}
}
