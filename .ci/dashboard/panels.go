package main

// What a query is restricted to: the daemons that are chosen, and their vCenters that are.
const (
	daemons  = `cluster=~"$cluster", job=~"$job"`
	vcenters = daemons + `, vcenter=~"$vcenter"`
)

type row struct {
	title  string
	panels []panel
}

// rows are in the order in which somebody looks who was woken by an alert.
func rows() []row {
	return []row{
		{"Overview", overview()},
		{"vCenters", ofVCenters()},
		{"Nodes", ofNodes()},
		{"Topology", ofTopology()},
		{"Requests to vCenters", ofRequests()},
		{"The daemon", ofDaemon()},
	}
}

func overview() []panel {
	return []panel{
		number("Leaders", "One daemon leads. 0: nobody does.", `sum(vsphere_ccm_leading{`+daemons+`})`).below(1),
		number("Failing vCenters", "vCenters that cannot be read now.", `sum(1 - max by (vcenter) (vsphere_ccm_vcenter_up{`+vcenters+`}))`).above(1),
		number("Nodes that wait", "Nodes with the taint uninitialized.", `sum(max by (outcome) (vsphere_ccm_uninitialized_nodes{`+daemons+`, outcome!="foreign"}))`).above(1),
		number("Nodes with conflicts", "The most Nodes of one kind of conflict.", `max(vsphere_ccm_topology_conflicting_nodes{`+daemons+`})`).above(1),
		number("Drifting Nodes", "Nodes with labels that are not those of their place.", `max(vsphere_ccm_topology_drifting_nodes{`+daemons+`})`).above(1),
		number("Nodes not deleted", "Nodes without a machine that are kept.", `sum(max by (reason) (vsphere_ccm_undeleted_nodes{`+daemons+`}))`).above(1),
		number("Configuration refused", "Daemons that go on with an older configuration.", `sum(1 - vsphere_ccm_config_last_reload_successful{`+daemons+`})`).above(1),
		number("Nodes placed", "Nodes of which everything is known.", `max(vsphere_ccm_nodes{`+daemons+`, outcome="placed"})`),
	}
}

func ofVCenters() []panel {
	return []panel{
		states("State by vCenter", "1: read and followed. 0: failing; the log says why.", `max by (vcenter) (vsphere_ccm_vcenter_up{`+vcenters+`})`, "{{vcenter}}"),
		graph("Age of what is known", "Time since a vCenter last answered its watch. Up to 25 s while nothing changes; beyond 300 s its Nodes are not initialized any more.", "s",
			`min by (vcenter) (vsphere_ccm_vcenter_snapshot_age_seconds{`+vcenters+`})`, "{{vcenter}}"),
		states("All machines seen", "0: machines of the configured datacenters may be missing, so that no machine of any vCenter counts as absent.",
			`max by (vcenter) (vsphere_ccm_vcenter_snapshot_complete{`+vcenters+`})`, "{{vcenter}}"),
		graph("Logins", "Attempts in five minutes by result. Many that are ok: the vCenter ends sessions.", "short",
			`sum by (vcenter, result) (increase(vsphere_ccm_vcenter_logins_total{`+vcenters+`}[5m]))`, "{{vcenter}} {{result}}"),
		faults("Login refused", "1: credentials are rejected or missing, or the certificate is not trusted.",
			`max by (vcenter) (vsphere_ccm_vcenter_credentials_rejected{`+vcenters+`})`, "{{vcenter}} credentials").
			and(`max by (vcenter) (vsphere_ccm_vcenter_credentials_missing{`+vcenters+`})`, "{{vcenter}} no credentials").
			and(`max by (vcenter) (vsphere_ccm_vcenter_certificate_untrusted{`+vcenters+`})`, "{{vcenter}} certificate"),
		graph("Certificate expires in", "Until the certificate that a vCenter shows is not valid any more.", "s",
			`max by (vcenter) (vsphere_ccm_vcenter_certificate_expiry_timestamp_seconds{`+vcenters+`}) - time()`, "{{vcenter}}"),
		graph("Machines", "UUIDs in the index, and machines of Nodes that are followed.", "short",
			`max by (vcenter) (vsphere_ccm_vcenter_indexed_uuids{`+vcenters+`})`, "{{vcenter}} indexed").
			and(`max by (vcenter) (vsphere_ccm_vcenter_followed_machines{`+vcenters+`})`, "{{vcenter}} followed"),
		graph("Watch restarts", "Within an hour. Each reads everything.", "short",
			`sum by (vcenter) (increase(vsphere_ccm_vcenter_watch_starts_total{`+vcenters+`}[1h]))`, "{{vcenter}}"),
	}
}

func ofNodes() []panel {
	return []panel{
		graph("Nodes by outcome", "What is known of each Node now, initialized or not.", "short",
			`max by (outcome) (vsphere_ccm_nodes{`+daemons+`}) > 0`, "{{outcome}}").stack(),
		graph("Nodes that wait, by outcome", "Not initialized yet. An Event on each says what it waits for.", "short",
			`max by (outcome) (vsphere_ccm_uninitialized_nodes{`+daemons+`})`, "{{outcome}}").stack(),
		graph("Deletions held back, by reason", "Nodes without a machine that are not deleted.", "short",
			`max by (reason) (vsphere_ccm_undeleted_nodes{`+daemons+`})`, "{{reason}}").stack(),
	}
}

func ofTopology() []panel {
	return []panel{
		graph("Nodes with conflicts, by kind", "An Event TopologyConflict on each names the objects.", "short",
			`max by (kind) (vsphere_ccm_topology_conflicting_nodes{`+daemons+`})`, "{{kind}}"),
		graph("Drift", "Nodes with a topology label, or an instance type, that is not that of their machine now.", "short",
			`max(vsphere_ccm_topology_drifting_nodes{`+daemons+`})`, "topology").
			and(`max(vsphere_ccm_instance_type_drifting_nodes{`+daemons+`})`, "instance type"),
		graph("Labels and taints written", "By the topology controller, a minute.", "short",
			`sum by (action) (rate(vsphere_ccm_topology_writes_total{`+daemons+`}[5m])) * 60`, "{{action}}"),
		states("Tags known", "0: the last reading of tags failed. Nodes that need them wait.",
			`max by (vcenter) (vsphere_ccm_vcenter_tags_known{`+vcenters+`})`, "{{vcenter}}"),
		graph("Objects whose tags may not be read", "For lack of System.Read.", "short",
			`max by (vcenter) (vsphere_ccm_vcenter_unreadable_tag_objects{`+vcenters+`})`, "{{vcenter}}"),
	}
}

func ofRequests() []panel {
	return []panel{
		graph("Requests a minute by vCenter", "Four or five where nothing changes.", "short",
			`sum by (vcenter) (rate(vsphere_ccm_vcenter_requests_total{`+vcenters+`}[5m])) * 60`, "{{vcenter}}"),
		graph("Requests a minute by call", "", "short",
			`sum by (call) (rate(vsphere_ccm_vcenter_requests_total{`+vcenters+`}[5m])) * 60`, "{{call}}"),
		graph("Failed requests a minute", "By vCenter, call and result.", "short",
			`sum by (vcenter, call, result) (rate(vsphere_ccm_vcenter_requests_total{`+vcenters+`, result=~"error|timeout"}[5m])) * 60`, "{{vcenter}} {{call}} {{result}}"),
		graph("Latency, 99th percentile", "Of all calls but the long poll.", "s",
			`histogram_quantile(0.99, sum by (vcenter, le) (rate(vsphere_ccm_vcenter_request_duration_seconds_bucket{`+vcenters+`, call!="WaitForUpdatesEx"}[10m])))`, "{{vcenter}}"),
	}
}

func ofDaemon() []panel {
	return []panel{
		states("Leader", "1: leads. 0: stands by.", `max by (instance) (vsphere_ccm_leading{`+daemons+`})`, "{{instance}}"),
		graph("Builds", "Daemons by version. Two for long: a roll-out is stuck.", "short",
			`count by (git_version) (kubernetes_build_info{`+daemons+`})`, "{{git_version}}"),
		graph("Depth of work queues", "Work of the framework's controllers that waits.", "short",
			`max by (name) (workqueue_depth{`+daemons+`})`, "{{name}}"),
		graph("Wait in work queues, 99th percentile", "", "s",
			`histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket{`+daemons+`}[10m])))`, "{{name}}"),
		graph("Requests to the API server a minute", "By code. <error>: it was not reached.", "short",
			`sum by (code) (rate(rest_client_requests_total{`+daemons+`}[5m])) * 60`, "{{code}}"),
		graph("Configuration changes in an hour", "", "short",
			`sum by (result) (increase(vsphere_ccm_config_reloads_total{`+daemons+`}[1h]))`, "{{result}}"),
		graph("Age of the configuration", "Since it was put in force.", "s",
			`time() - max by (instance) (vsphere_ccm_config_last_reload_success_timestamp_seconds{`+daemons+`})`, "{{instance}}"),
		graph("CPU", "Seconds a second.", "short",
			`sum by (instance) (rate(process_cpu_seconds_total{`+daemons+`}[5m]))`, "{{instance}}"),
		graph("Memory", "Resident.", "bytes",
			`max by (instance) (process_resident_memory_bytes{`+daemons+`})`, "{{instance}}"),
	}
}
