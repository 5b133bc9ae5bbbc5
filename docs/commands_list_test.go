package docs_test

// anyPage is a pattern for all pages.
const anyPage = `.*`

// commandsPlayed are the command lines of the pages, and what runs them. The lines in blocks of kind
// console are not here: scripts in cmd/vzones/testdata/pages run them.
var commandsPlayed = []played{
	// The tool.
	{`docs/reference/vzones.md`, `^vzones (validate|config|convert|completion)`, "cmd/vzones TestExamples"},
	{`docs/reference/vzones.md`, `^vzones `, "cmd/vzones TestExamplesAreInScripts"},
	{`docs/how-to/convert-a-configuration.md`, `^vzones `, "cmd/vzones TestHowTo"},
	{`docs/how-to/(migrate-from-the-cpi|migrate-from-in-tree|stretched-clusters|upgrade|install|share-the-csi-drivers-configuration).md`, `^vzones (validate|convert|config) `, "cmd/vzones TestHowTos"},
	{`docs/how-to/get-help.md`, `^vzones (check|nodes) `, "cmd/vzones TestFleetScripts"},
	{anyPage, `\| vzones (validate|config) `, "cmd/vzones TestPipes"},
	{`docs/tutorial/first-cluster.md`, "text 2. Keep it and look around\n^vzones ", "test/demo TestWhatIsPrintedWorks"},
	{`docs/tutorial/first-cluster.md`, "sh 2. Keep it and look around\n^grep ", "test/demo TestWhatIsPrintedWorks"},
	// The script has the Node of the page, which TestNodeOfTheTutorial compares.
	{`docs/tutorial/first-cluster.md`, "sh 2. Keep it and look around\n^kubectl create ", "cmd/vzones TestPages"},

	// kubectl and Helm. Where a page's order matters a test of its own enters them.
	{anyPage, `^kubectl (-n \S+ )?(get|describe|logs|auth can-i) `, "test/chart TestPagesReadTheCluster"},
	{`docs/how-to/(cluster-api|share-the-csi-drivers-configuration|credentials|keep-zones-true|find-out-why-a-node-waits|migrate-from-in-tree|convert-a-configuration|change-the-configuration).md`,
		`^kubectl (-n \S+ )?(create|apply|rollout restart|annotate service|drain|uncordon|delete node) `, "test/chart TestPagesWriteTheCluster"},
	{`README.md|docs/how-to/(upgrade|remove).md`, `^helm -n kube-system (install|get values|upgrade|rollback|uninstall) vzones`, "test/chart TestPagesWriteTheCluster"},
	{`docs/how-to/(install|remove).md`, `^kubectl (-n \S+ )?(apply -f (vsphere-cloud-controller-manager|cpi).yaml|delete (-f|role|clusterrole))`, "test/chart TestPagesWriteTheCluster"},
	{`docs/how-to/cluster-api.md|docs/how-to/(convert-a-configuration|migrate-from-in-tree).md`, `^(helm template|rm )`, "test/chart TestPagesWriteTheCluster"},
	{`docs/how-to/(install|remove).md`, `kubectl apply -f (configuration|vsphere-cloud-secret).yaml|^rm (configuration|vsphere-cloud-secret).yaml`, "test/chart TestWhatIsSavedComesBack"},
	{`docs/how-to/install.md`, `helm (template|install|-n kube-system uninstall) vzones`, "test/chart TestWhatIsSavedComesBack"},
	{`docs/how-to/install.md`, `--take-ownership`, "test/chart TestTakesOverWhatKubectlHasApplied"},
	{`docs/how-to/.*.md`, `rollout status|set image|rollout undo|kubectl apply -f vsphere-cloud-controller-manager.yaml`, "test/chart TestImageOfTheManifest"},
	{`docs/how-to/remove.md`, `^kubectl (taint|patch|annotate|label) `, "test/chart TestWhatIsLeftOnNodesIsTakenOff"},
	{`docs/how-to/remove.md`, `delete lease`, "test/chart TestFromChartToLabeledNode"},
	{`docs/how-to/change-the-configuration.md`, `nodes-of-east`, "test/chart TestNodesOfARemovedVCenter"},
	{`docs/how-to/dry-run.md`, `^kubectl (apply|-n kube-system (wait|delete pod))`, "test/chart TestADryRunIsWaitedFor"},
	{`docs/reference/node.md`, `^kubectl wait `, "test/chart TestNodesAreListedByTheirCondition"},
	{`docs/how-to/migrate-from-the-cpi.md`, `annotate secret`, "test/chart TestSecretOfTheCPIsReleaseIsKept"},

	// These tests do the same in their own words.
	{`docs/how-to/migrate-from-the-cpi.md`, `^helm -n kube-system (get values|upgrade|install|uninstall|rollback)|^rm cpi-values.yaml|^kubectl apply -f`, "test/takeover TestReleaseTakenOver"},
	{`(docs/tutorial/first-cluster|manifests/chart/README).md`, `^helm (install|upgrade|uninstall) vzones|^kubectl `, "test/chart TestFromChartToLabeledNode"},
	{`docs/how-to/(dry-run|migrate-from-the-cpi).md`, `^vsphere-cloud-controller-manager --dry-run`, "test/stack TestDryRun"},

	// Programs of the repository.
	{anyPage, `^([A-Z_]+=\S+ )*make [a-z]`, "docs TestMakeTargetsExist"},
	{anyPage, `^(VZONES_DAEMON=\S+ )?go test `, "docs TestGoTestsOfPages"},

	// What no test runs.
	{`CONTRIBUTING.md`, `^\.ci/run$`, "not: it is what runs the tests"},
	{`docs/tutorial/first-cluster.md`, `^export |^cat > `, "not: they need the demo's folder, which differs from run to run"},
	{`docs/how-to/build-an-image.md`, `^(skopeo|ctr|docker|go run|mkdir) `, "not: they need a registry, or an engine for containers"},
	{`docs/how-to/release.md`, `^diff SHA256SUMS `, "not: it needs two releases; make check-release compares them"},
	{`docs/how-to/develop.md`, `^(git diff|xdg-open)`, "not: they show something to a person"},
	{`docs/how-to/find-out-why-a-node-waits.md`, `^curl `, "not: it needs a daemon on the host network, whose /readyz test/stack reads"},
	{`docs/how-to/(trust-a-vcenters-certificate|runbooks/.*).md`, `^(curl|unzip|openssl) `, "not: they need a real vCenter"},
	{`docs/reference/benchmarks.md`, `^(git worktree|\(cd|bin/bench|for |jq|done)`, "not: make bench takes half an hour, and needs an otherwise idle machine"},
}
