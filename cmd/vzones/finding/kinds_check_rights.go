package finding

// The kinds about what the accounts may do, and about tag categories.
var (
	PrivilegeMissing = &Kind{"VZ115", Error, "a privilege is missing",
		"Nodes that depend on the object cannot be placed. vCenter was asked for the account's privileges, so this is known before anything fails.",
		"Give the account the role Read-only on the object."}
	PrivilegeWanted = &Kind{"VZ116", Warning, "a privilege that helps is missing",
		"vzones does without it, and with less, as the text says.",
		"Give the account the role Read-only on the object."}
	TaggingFails = &Kind{"VZ117", Error, "the tagging service does not answer",
		"Without tags no Node gets a region or zone that comes from tags. Nodes that have them keep them.",
		"Look at the services of the vCenter: tags are served by its content library and tagging service, apart from the rest."}
	TagsUnreadable = &Kind{"VZ119", Warning, "tags of objects cannot be read",
		"These objects count as untagged, and running Nodes keep labels that may rest on them.",
		"Give the account the role Read-only there, without propagation."}
	CategoryNowhere = &Kind{"VZ120", Error, "no vCenter has a tag category",
		"No Node gets the label that is to come from it.",
		"Correct its name in the configuration, make the category and attach its tags, or let the account see it."}
	CategoryMissing = &Kind{"VZ121", Error, "a vCenter lacks a tag category",
		"Nodes there do not get the label. If it is region or zone, the CSI driver's topology service does not start at all.",
		"Make the category there and attach its tags, or give the account the role Read-only in the global permissions."}
	CategoryMultiple = &Kind{"VZ122", Warning, "a tag category allows several tags on one object",
		"Two of its tags on one object are ambiguous: Nodes below have no zone. vCenter does not prevent that here.",
		"vCenter cannot narrow a category. Make a new one with One tag per object, or take care."}
	CategoryUnfit = &Kind{"VZ123", Error, "a tag category fits no object above a machine",
		"Its tags can be attached to none of the types that vzones looks at.",
		"Let its tags be attached to hosts, clusters and datacenters, which vCenter allows afterwards too."}
	DatacenterUnmatched = &Kind{"VZ124", Error, "a configured datacenter does not exist",
		"Its machines are not seen, and no Node of any vCenter is deleted.",
		"Correct datacenters in the configuration, or let the account see the datacenter."}
	RightMissing = &Kind{"VZ126", Error, "a right in the cluster is missing",
		"The ServiceAccount of the daemon's Pod lacks a right that Nodes depend on. It is looked for with --from-cluster, unless the daemon has a --kubeconfig.",
		"Apply the roles of the manifest, or add the right to the account's role."}
	RightWanted = &Kind{"VZ127", Warning, "a right in the cluster that helps is missing",
		"The daemon does without it, and with less, as the text says. It is looked for as VZ126 is.",
		"Apply the roles of the manifest, or add the right to the account's role."}

	checkRights = []*Kind{
		PrivilegeMissing, PrivilegeWanted, TaggingFails, TagsUnreadable,
		CategoryNowhere, CategoryMissing, CategoryMultiple, CategoryUnfit, DatacenterUnmatched, NotChecked, RightMissing, RightWanted,
	}
)
