package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fixture"
	"vzones/test/stack"
)

// await returns a command that waits until all Nodes have a label.
func await(label string) string { return awaitKey("labels", label) }

// awaitKey is await for a key of labels or annotations.
func awaitKey(of, key string) string {
	return "kubectl wait node --all --timeout=2m --for=jsonpath='{.metadata." + of + "." + strings.ReplaceAll(key, ".", `\.`) + "}'\n"
}

const (
	zoneLabel = "topology.kubernetes.io/zone"
	migrate   = "docs/how-to/migrate.md"
	// started is the last line of the demo's output before the first command.
	started = "Type a command here"
)

// inTree is a configuration of the former in-tree provider.
const inTree = `[Global]
user = "vzones@vsphere.local"
password = "secret"
insecure-flag = 1
[VirtualCenter "vc.example.com"]
datacenters = "dc"
[Labels]
region = k8s-region
zone = k8s-zone
`

// TestInstallByThePages runs the commands of the documentation in the demo's cluster: the third part of the
// tutorial, the README, and the how-tos about installation, upgrade, removal and conversion of a
// configuration. Every command must succeed, but vzones check may report findings.
func TestInstallByThePages(t *testing.T) {
	enter := keptCluster(t)
	checkColumns(t, enter(shellBlocks(t, "docs/tutorial/first-cluster.md", "## 3. ")...))

	// ownManifest is the completed plain manifest.
	const ownManifest = "vsphere-cloud-controller-manager.yaml"
	enter("helm template vzones manifests/chart --namespace kube-system --values bin/demo-cluster/values.yaml > " + ownManifest)
	enter(shellBlocks(t, "docs/how-to/install.md", "## Install from the plain manifest")...)
	enter("kubectl delete -f " + ownManifest)

	for path, heading := range map[string]string{"README.md": "## Install", "docs/how-to/install.md": "## Install with Helm"} {
		values := blocks(t, path, heading, "yaml")[0]
		enter("helm template vzones manifests/chart --values - <<'VALUES' | vzones check --offline -\n" + values + "VALUES\n")
	}
	enter("cp bin/demo-cluster/values.yaml values.yaml")
	enter(shellBlocks(t, "README.md", "## Install")...)
	// The how-to creates this file.
	enter("rm values.yaml")
	enter(shellBlocks(t, "docs/how-to/change-upgrade-remove.md", "## Upgrade")...)
	enter(shellBlocks(t, "docs/how-to/change-upgrade-remove.md", "## Remove")...)
	enter(shellBlocks(t, "docs/how-to/change-upgrade-remove.md", "### Clean up the Nodes")...)
	enter("kubectl -n kube-system create configmap cloud-config --from-file=vsphere.conf=bin/demo-cluster/vsphere.yaml")
	enter(shellBlocks(t, "docs/how-to/install.md", "## Install with Helm")...)

	enter("cat > vsphere.conf <<'INI'\n" + inTree + "INI\n")
	enter(blocks(t, migrate, "## From the in-tree provider", "sh")[0])
	enter("vzones check --offline vsphere.yaml", "kubectl apply --dry-run=server -f secret.yaml")
}

// TestMigrateByThePages runs the commands of the tutorial's fourth part and of the how-to that it refers to:
// from the vSphere CPI to vzones and back, and then an installation of the chart over the CPI's objects.
func TestMigrateByThePages(t *testing.T) {
	enter := keptCluster(t)
	if _, err := os.Stat(incumbent); err != nil {
		t.Skipf("left out: make incumbent builds the vSphere CPI: %v", err)
	}
	checkColumns(t, enter(shellBlocks(t, "docs/tutorial/first-cluster.md", "## 4. ")...))
	enter(shellBlocks(t, migrate, "### Preview the migration")...)
	shadowByThePage(t, enter)
	enter(shellBlocks(t, migrate, "### Run a pilot")...)
	enter(shellBlocks(t, migrate, "### If you deployed the CPI from your own manifest")...)
	enter(awaitKey("annotations", nodeinfo.KeyVM))
	enter(shellBlocks(t, migrate, "### Verify the result")...)
	back := regexp.MustCompile("(?m)^To roll back: `(kubectl .*)`\\.$").FindStringSubmatch(fixture.Page(t, migrate))
	if back == nil {
		t.Fatalf("%s does not describe how to roll back", migrate)
	}
	const status = "kubectl -n kube-system rollout status daemonset/vsphere-cloud-controller-manager"
	enter(back[1], status)
	enter(shellBlocks(t, "docs/how-to/install.md", "### If the chart's objects already exist")...)
	enter(status)
}

// shadowByThePage runs the commands for a shadow of the vSphere CPI, without those that need a kubelet or Docker.
// The shadow by the chart reaches the CPI's vCenters, and so does the tool with the token of its ServiceAccount.
func shadowByThePage(t *testing.T, enter func(blocks ...string) string) {
	t.Helper()
	shadow := shellBlocks(t, migrate, "### Shadow the CPI")
	if len(shadow) != 2 {
		t.Fatalf("%d blocks of commands, want one with a Pod and one without", len(shadow))
	}
	enter(regexp.MustCompile(`(?m)^kubectl .* logs .*\n`).ReplaceAllString(shadow[0], ""))
	enter("vzones check\n") // The shadow is not taken for a second daemon.
	const restarts = "kubectl -n kube-system get pods -l name=vzones-shadow -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}'"
	if n := enter(restarts); n != "0" {
		t.Errorf("the shadow has been restarted %q times, want 0 and one Pod", n)
	}
	enter("helm -n kube-system uninstall vzones-shadow")
	watch := regexp.MustCompile(`(?m)^vzones plan --watch .*`).ReplaceAllString(shadow[1], "timeout -s INT 30 $0 || test $? -eq 124")
	if out := enter(watch); !strings.Contains(out, " 24 Nodes") {
		t.Errorf("the watch does not report the demo's 24 Nodes:\n%s", out)
	}
	enter("kubectl delete -f manifests/vzones-shadow.yaml", "kubectl -n kube-system get secret vsphere-cloud-secret")
}

// checkColumns fails unless kubectl get nodes, whose output is included, shows a value in each column. It leaves
// the cells of missing labels empty.
func checkColumns(t *testing.T, output string) {
	t.Helper()
	shown := 0
	columns := 0
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		isNode := columns > 0 && len(fields) > 1 && (fields[1] == "Ready" || fields[1] == "NotReady")
		switch {
		case len(fields) > 1 && fields[0] == "NAME" && fields[1] == "STATUS":
			columns = len(fields)
		case isNode && len(fields) < columns:
			t.Errorf("a Node is shown with %d of %d columns: %q", len(fields), columns, line)
		case isNode:
			shown++
		}
	}
	if shown == 0 {
		t.Errorf("no Node is shown with all columns:\n%s", output)
	}
}

// keptCluster starts the demo's cluster in a folder that looks like a fully built clone. It returns a
// function that runs blocks of commands there and returns their output.
func keptCluster(t *testing.T) (enter func(blocks ...string) string) {
	t.Helper()
	if err := cluster.Wanted(cluster.ControllerManager, cluster.Scheduler); err != nil {
		t.Skipf("left out: %v", err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, helm)); err != nil {
		t.Skipf("left out: make helm builds it: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs", "go.mod", "manifests", "test", "bin/tools", "bin/controlplane", "bin/incumbent"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin")+"/", "./cmd/vsphere-cloud-controller-manager", "./cmd/vzones")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the programs: %v\n%s", err, out)
	}
	if err := stack.DependOnSources(root); err != nil {
		t.Fatal(err)
	}

	t.Chdir(dir)
	out := new(output)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- (&demo{out: out, began: time.Now(), keep: keepCluster, folder: folder}).run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the demo ended with the error %v, output:\n%s", err, out)
		}
	})
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, stack.Slower(limit), true, func(context.Context) (bool, error) {
		return strings.Contains(out.String(), started), nil
	})
	if err != nil {
		t.Fatalf("the cluster has not started: %v\n%s", err, out)
	}
	return func(blocks ...string) string {
		t.Helper()
		var all strings.Builder
		for _, block := range blocks {
			ctx, cancel := context.WithTimeout(t.Context(), stack.Slower(limit))
			cmd := exec.CommandContext(ctx, "sh", "-ec", strings.ReplaceAll(block, "vzones check\n", await(zoneLabel)+"vzones check || test $? -eq 1\n"))
			cmd.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG="+filepath.Join(dir, folder, "kubeconfig"),
				"PATH="+strings.Join([]string{filepath.Join(dir, "bin"), filepath.Join(dir, "bin", "tools"), os.Getenv("PATH")}, string(os.PathListSeparator)))
			// A hanging command keeps the output open.
			cmd.WaitDelay = time.Second
			said, err := cmd.CombinedOutput()
			cancel()
			if _, pods, _ := strings.Cut(out.String(), started); strings.Contains(pods, "operation not permitted") {
				t.Skipf("left out: a process cannot be given another root here:\n%s", out)
			}
			if err != nil {
				t.Fatalf("entering this block: %v\n%s\nit printed:\n%s\nthe demo printed:\n%s", err, block, said, out)
			}
			t.Logf("%s\n%s", block, said)
			all.Write(said)
		}
		return all.String()
	}
}

// shellBlocks returns the shell blocks of a section, without lines that run make.
func shellBlocks(t *testing.T, path, heading string) []string {
	t.Helper()
	var all []string
	for _, text := range blocks(t, path, heading, "sh") {
		if text = regexp.MustCompile(`(?m)^.*\bmake .*\n`).ReplaceAllString(text, ""); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// blocks returns the blocks of a kind in the section whose heading starts with heading.
func blocks(t *testing.T, path, heading, kind string) []string {
	t.Helper()
	_, section, found := strings.Cut(fixture.Page(t, path), "\n"+heading)
	if !found {
		t.Fatalf("%s has no section %s", path, heading)
	}
	for _, next := range []string{"\n## ", "\n### "} {
		section, _, _ = strings.Cut(section, next)
	}
	var all []string
	for _, b := range fixture.Blocks(section) {
		if b.Kind == kind {
			all = append(all, b.Text)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s, %s: no block of the kind %s", path, heading, kind)
	}
	return all
}

// output is a buffer for concurrent writers.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
