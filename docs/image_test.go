package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An instruction of a Dockerfile, such as COPY, with what follows it on one line.
type instruction struct{ name, rest string }

// stages returns the instructions of each stage of a Dockerfile.
func stages(text string) [][]instruction {
	var all [][]instruction
	var long string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if before, goesOn := strings.CutSuffix(line, `\`); goesOn {
			long += before
			continue
		}
		name, rest, _ := strings.Cut(long+line, " ")
		long = ""
		if name == "FROM" {
			all = append(all, nil)
		}
		if n := len(all); n > 0 {
			all[n-1] = append(all[n-1], instruction{name, strings.TrimSpace(rest)})
		}
	}
	return all
}

// image makes the files that the Dockerfile's last stage takes from the folder of sources,
// and returns the root of the image. The instructions that make links are run as they
// stand; a file stands in for the binary, which make build puts into bin/.
func image(t *testing.T, all [][]instruction) (root string) {
	t.Helper()
	source := t.TempDir()
	root = t.TempDir()
	run := func(dir, name string, args ...string) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	if !slices.Contains(all[0], instruction{"WORKDIR", "/src"}) {
		t.Fatal("the first stage builds in another folder than /src")
	}
	run(source, "mkdir", "bin")
	run(source, "touch", "bin/vsphere-cloud-controller-manager")
	for _, i := range all[0] {
		if i.name == "RUN" && strings.Contains(i.rest, "ln -s") {
			run(source, "sh", "-c", i.rest)
		}
	}
	for _, i := range all[1] {
		args := strings.Fields(i.rest)
		if i.name != "COPY" || len(args) != 3 || args[0] != "--from=build" {
			continue
		}
		from, isSource := strings.CutPrefix(args[1], "/src/")
		if !isSource {
			continue
		}
		if strings.HasSuffix(from, "/") {
			from += "." // what is in a folder
		}
		to := filepath.Join(root, args[2])
		run(root, "mkdir", "-p", to)
		run(source, "cp", "-R", from, to)
	}
	return root
}

// TestImageHasTheBinaryWhereManifestsNameIt: in /bin, by which Gardener's and OpenShift's
// manifests start the CPI, and in the root, by which ours did.
func TestImageHasTheBinaryWhereManifestsNameIt(t *testing.T) {
	all := stages(read(t, "../Dockerfile"))
	if len(all) != 2 {
		t.Fatalf("%d stages, want 2", len(all))
	}
	root := image(t, all)
	const path = "/bin/vsphere-cloud-controller-manager"
	binary, err := os.Lstat(filepath.Join(root, path))
	if err != nil || !binary.Mode().IsRegular() {
		t.Fatalf("%s is not the binary: %v", path, err)
	}
	var entry []string
	for _, i := range all[1] {
		if i.name == "ENTRYPOINT" {
			if err := json.Unmarshal([]byte(i.rest), &entry); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(entry, []string{path}) {
		t.Errorf("it starts %q, want %s", entry, path)
	}
	const link = "/vsphere-cloud-controller-manager"
	if target, err := os.Readlink(filepath.Join(root, link)); err != nil || filepath.IsAbs(target) {
		t.Errorf("%s leads to %q (%v), not within the image", link, target, err)
	}
	if found, err := os.Stat(filepath.Join(root, link)); err != nil || !os.SameFile(found, binary) {
		t.Errorf("%s is not the binary: %v", link, err)
	}
}
