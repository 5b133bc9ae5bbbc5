package finding

// The kinds about tags and what comes of them.
var (
	HostWithoutZone = &Kind{"VZ130", Warning, "a host has no region or zone, and others of its cluster have",
		"Once a Node's machine is moved there its labels are wrong, and a new Node there waits.",
		"Attach a tag to the host, or to the cluster for all of its hosts."}
	ClusterWithoutZone = &Kind{"VZ131", Info, "a cluster or standalone host has no region or zone",
		"No Node is there now. A Node there would wait.",
		"If Nodes are to run there, attach tags to the cluster or to what is above it."}
	TwoTags = &Kind{"VZ132", Error, "two tags of one category are on one object",
		"Which of the two counts cannot be said, so Nodes below have no zone.",
		"Detach one of the two."}
	InvalidValue = &Kind{"VZ133", Error, "a name cannot be the value of a label",
		"Kubernetes allows 63 letters, digits, dashes, underscores and dots. Nodes below have no zone.",
		"Rename the tag or the object."}
	PrecedenceConflict = &Kind{"VZ134", Warning, "two tags on the way upwards disagree",
		"The nearest tag and the CSI driver's walk give different values, so that somebody may expect the other one.",
		"Detach one of the tags, or give both the same name."}
	TagOrder = &Kind{"VZ135", Warning, "the CSI driver's answer depends on the order of tags",
		"The driver may place volumes in another zone than the Nodes. Left out where no CSI driver places volumes by zones.",
		"Attach region and zone to different objects, or leave one of the values out farther up."}
	OffComputePath = &Kind{"VZ136", Warning, "the CSI driver does not see a value",
		"A label comes from a resource pool, a folder or the machine, where the CSI driver does not look. Left out where no CSI driver places volumes by zones.",
		"Attach the tags to host, cluster or datacenter, or leave the path out of topology.paths."}
	ZoneSpansVCenters = &Kind{"VZ137", Error, "a zone is in several vCenters",
		"The CSI driver can place no volume there, and the scheduler takes it for one zone. It is VZ145 where no CSI driver places volumes by zones.",
		"Give the zone or the region a name of its own in each vCenter."}
	NamesSpanVCenters = &Kind{"VZ138", Warning, "tags of one name are in several vCenters",
		"The CSI driver looks for the names alone, and places no volume. Left out where no CSI driver places volumes by zones.",
		"Rename a tag in one of the vCenters, or detach it there."}
	NameOfBoth = &Kind{"VZ139", Warning, "a name is a region's and a zone's",
		"The CSI driver may place volumes on the wrong hosts, or none. Left out where no CSI driver places volumes by zones.",
		"Rename one of the two tags."}
	TagWithoutHosts = &Kind{"VZ140", Warning, "a region's or zone's tag is where no hosts are",
		"The CSI driver fails at such an object and places no volume in the region or zone. Left out where no CSI driver places volumes by zones.",
		"Detach the tag there."}
	ZoneInTwoRegions = &Kind{"VZ141", Error, "a zone is in several regions",
		"The scheduler, Services and volumes look at the zone's value alone and take it for one zone.",
		"Give the zone a name of its own in each region, or compose it of both in the configuration."}
	NotNested = &Kind{"VZ142", Warning, "a value of a further level is not in one zone",
		"Whoever spreads Pods by it takes several places for one.",
		"Give it a name of its own in each, or write nested: false for the level."}
	NotSeenByCSI = &Kind{"VZ143", Info, "the CSI driver sees other values than Nodes have",
		"Region or zone is composed, or comes from something else than a tag. The CSI driver reads plain tags. Left out where no CSI driver places volumes by zones.",
		"Without the CSI driver this does not matter. With it, take region and zone from tags."}
	TwoGroups = &Kind{"VZ144", Error, "a host is in two DRS host groups of one rule",
		"Which of the two counts cannot be said, so Nodes there have no value for the label.",
		"Take the host out of one of the groups."}

	ZoneOfVCenters = &Kind{"VZ145", Info, "a zone is in several vCenters, and no CSI driver places volumes by zones",
		"The scheduler takes it for one zone, which may be intended. The CSI driver could place no volume there.",
		"Nothing, if it is one place. Otherwise give the zone or the region a name of its own in each vCenter."}

	checkTopology = []*Kind{
		HostWithoutZone, ClusterWithoutZone, TwoTags, InvalidValue, PrecedenceConflict, TagOrder, OffComputePath, ZoneSpansVCenters,
		NamesSpanVCenters, NameOfBoth, TagWithoutHosts, ZoneInTwoRegions, NotNested, NotSeenByCSI, TwoGroups, ZoneOfVCenters,
	}
)
