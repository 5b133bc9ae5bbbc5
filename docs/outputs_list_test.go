package docs_test

// outputsCompared are the blocks of the pages, but those of command lines, and what compares them with
// what is printed. Behind the kind of a block, a heading and a newline a part is a pattern for its text.
var outputsCompared = []played{
	// What the demo prints. Times, ports, the number of requests within 10 to 49, and how many lines say
	// that Nodes were initialized may differ.
	{`README.md`, "text What the demo shows\n", "test/demo TestDemoIsShown"},
	{`docs/tutorial/first-cluster.md`, "text 1. Run the demo\n", "test/demo TestDemoIsShown"},
	// All numbers may differ; in the line of the log, its time and the place in the source.
	{`docs/tutorial/first-cluster.md`, "text 2. Keep it and look around\n", "test/demo TestWhatIsPrintedWorks"},
	// Commands of the demo are carried out, and each line of what status shows has to come, in any order
	// and with any age. An ellipsis in a line is any text.
	{`docs/tutorial/first-cluster.md`, "text A machine moves to another zone\n", "test/demo TestTutorial"},
	{`docs/tutorial/first-cluster.md`, "text A machine is cloned\n", "test/demo TestTutorial"},
	{`docs/tutorial/first-cluster.md`, "text A machine is deleted\n", "test/demo TestTutorial"},
	{`docs/tutorial/first-cluster.md`, "text A vCenter hangs\n", "test/demo TestTutorial"},
	{`docs/tutorial/first-cluster.md`, "text A password is changed in the vCenter only\n", "test/demo TestTutorial"},

	// What the daemon prints, logs and answers.
	// The vCenter's UUID may differ, and if it takes long, conditions and an Event of the Node without a machine.
	{`docs/how-to/dry-run.md`, "text Read the result\n", "test/stack TestDryRunIsDocumented"},
	{`docs/reference/metrics.md`, "text /readyz\n", "cmd/vsphere-cloud-controller-manager/app/readiness TestReadinessIsDocumented"},
	{`docs/how-to/upgrade.md|docs/reference/compared-with-the-cpi.md`, `^A right is missing`, "cmd/vsphere-cloud-controller-manager/app/rights TestMessageIsDocumented"},
	{`docs/reference/compared-with-the-cpi.md`, `^A client has`, "cmd/vsphere-cloud-controller-manager/app/accounts TestMessageIsDocumented"},
	{`docs/how-to/credentials.md`, "text Where they are written\n", "vcenter/credentials TestMissingKeyIsDocumented"},
	// The names of hosts are put in; fingerprints and dates may differ.
	{`docs/how-to/trust-a-vcenters-certificate.md`, "text Trust a vCenter's certificate\n", "vcenter/session TestUntrustedIsDocumented"},
	{`docs/how-to/trust-a-vcenters-certificate.md`, "text A session manager\n", "vcenter/session TestUntrustedManagerIsDocumented"},
	{`CONTRIBUTING.md`, "text Write a message\n", "docs TestExampleOfAMessage"},

	// What is generated, or read by the parser.
	{`docs/reference/vzones.md`, "^", "cmd/vzones TestReference"},
	{`docs/reference/alerts.md`, "^", "test/alerts TestReference"},
	{`docs/reference/configuration.md`, "^", "docs TestExamplesAreRead"},
	{`docs/how-to/write-a-scenario.md`, "text Read one\n", "test/scenarios TestTheExampleOfTheHowToIsWellFormed"},
	{`docs/how-to/.*.md`, `^(labels|topology|nodes):`, "docs TestConfigurationsOfHowTos"},
	{`docs/how-to/dry-run.md`, "yaml Run it\n", "docs TestDryRunPod"},

	// What is no output.
	{`docs/explanation/(architecture|how-it-works|threat-model).md|RELEASING.md`, "^", "not: a diagram"},
	{`CONTRIBUTING.md`, "text Commit\n", "not: an example of a commit's message"},
	{`docs/how-to/develop.md`, "go Write a test of the whole stack\n", "not: the outline of a test"},
	{`docs/how-to/share-the-csi-drivers-configuration.md`, "^ *--cloud-config-secret=", "not: a flag for a manifest"},
	{`docs/how-to/share-the-csi-drivers-configuration.md`, "^ *configSecret:", "not: values of the chart"},
	{`docs/how-to/write-the-configuration-in-an-editor.md`, "^", "not: a comment and settings for editors"},
	{`docs/how-to/install.md`, "^", "not: values of the chart"},
	{`docs/how-to/migrate-from-the-cpi.md`, "^", "not: values of charts"},
	{`docs/how-to/monitor.md`, "^", "not: objects, values and settings for Prometheus"},
	{`docs/how-to/credentials.md`, "^(apiVersion|stringData):", "not: a Secret that the reader writes"},
	{`docs/how-to/cluster-api.md`, "^(apiVersion|nodeRegistration):", "not: objects of Cluster API"},
	{`docs/how-to/stretched-clusters.md`, "^topologySpreadConstraints:", "not: a part of a Deployment"},
	{`docs/how-to/trust-a-vcenters-certificate.md`, "^(vcenter:|    (caFile|thumbprint):)", "not: a part of a configuration, without a certificate of its own"},
	{`docs/reference/metrics.md`, "^rules:", "not: a part of a ClusterRole"},
	{`docs/reference/placement.md`, "^labels:", "not: a part of a configuration"},
}
