package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vzones/test/fixture"
)

var update = flag.Bool("update", false, "rewrite the reference and the scripts' expected output")

func TestMain(m *testing.M) {
	// Scripts mostly wait, so more of them than CPUs can run. main has flags of its own, so only the
	// test binary parses these.
	if strings.HasSuffix(os.Args[0], ".test") {
		flag.Parse()
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"vzones": main, "kubectl-vzones": main})
}

// TestScripts runs the tool as a process. The scripts have one additional command:
//
//	mode FILE…  fails unless nobody but the owner can read the files
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mode": func(ts *testscript.TestScript, _ bool, files []string) {
				for _, f := range files {
					info, err := os.Stat(ts.MkAbs(f))
					ts.Check(err)
					if info.Mode().Perm() != 0o600 {
						ts.Fatalf("%s has mode %v", f, info.Mode())
					}
				}
			},
		},
	})
}

// TestExamplesComeBeforeFlags: the flags of most commands fill a screen.
func TestExamplesComeBeforeFlags(t *testing.T) {
	for _, cmd := range commands() {
		if cmd.Hidden {
			continue
		}
		var out bytes.Buffer
		if status := run(append(strings.Fields(cmd.CommandPath())[1:], "--help"), nil, &out, io.Discard); status != success {
			t.Fatalf("%s --help: status %d, want %d", cmd.CommandPath(), status, success)
		}
		examples := strings.Index(out.String(), "\nExamples:\n")
		flags := strings.Index(out.String(), "\nFlags:\n")
		if examples < 0 || flags < examples {
			t.Errorf("%s --help: examples are at %d, flags at %d, want examples first:\n%s", cmd.CommandPath(), examples, flags, &out)
		}
	}
}

func commands() []*cobra.Command {
	root := (&tool{}).command()
	return append([]*cobra.Command{root}, root.Commands()...)
}

const (
	anINI  = "[VirtualCenter \"vc.example.com\"]\nuser = admin@vsphere.local\npassword = S3cretS3cret\n[Labels]\nzone = k8s-zone\n"
	aYAML  = "vcenter:\n  vc.example.com:\n    user: admin@vsphere.local\n    password: S3cretS3cret\nlabels:\n  zone: k8s-zone\n"
	noFile = "not-there.yaml"

	aManifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {vc.example.com.username: u, vc.example.com.password: p}\n"
)

// readsFleet reports whether an example needs vCenters.
func readsFleet(example string) bool {
	words := strings.Fields(example)
	cmd, _, err := commands()[0].Find(words[1:])
	return err == nil && cmd.Flags().Lookup("timeout") != nil && !slices.Contains(words, "--offline")
}

func writeFiles(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{"vsphere.conf": anINI, "csi-vsphere.conf": anINI, "vsphere.yaml": aYAML, "manifest.yaml": aManifest, "vsphere-cloud-controller-manager.yaml": aManifest} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExamples runs the examples of all help texts in order.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t)
	count := 0
	for _, cmd := range commands() {
		if cmd.Hidden {
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			if readsFleet(line) {
				continue // The scripts of testdata/fleet and testdata/cluster run these.
			}
			runLine(t, strings.TrimSpace(line))
			count++
		}
	}
	if count == 0 {
		t.Error("no help text has examples")
	}
}

// TestHowTos runs the commands of the how-to guides that read only files.
func TestHowTos(t *testing.T) {
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	manifest, err := os.ReadFile("../../manifests/vsphere-cloud-controller-manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest = bytes.ReplaceAll(manifest, []byte(`name: ""`), []byte(`name: "filled in"`))
	manifest = bytes.ReplaceAll(manifest, []byte(`word: ""`), []byte(`word: "filled in"`))
	command := regexp.MustCompile(`(?m)^ *(vzones (?:check --offline|convert) [^|\n]*)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			t.Run(filepath.Base(page)+" "+m[1], func(t *testing.T) {
				t.Chdir(t.TempDir())
				writeFiles(t)
				if err := os.WriteFile("vsphere-cloud-controller-manager.yaml", manifest, 0o600); err != nil {
					t.Fatal(err)
				}
				runLine(t, m[1])
			})
		}
	}
}

// runLine runs a shell command with variable assignments and redirections.
func runLine(t *testing.T, line string) {
	t.Helper()
	var args []string
	var in io.Reader = strings.NewReader("")
	var out, stderr bytes.Buffer
	words, to := strings.Fields(line), ""
	for i := 0; i < len(words); i++ {
		name, value, assigns := strings.Cut(words[i], "=")
		switch {
		case assigns && len(args) == 0:
			t.Setenv(name, value)
		case words[i] == "<":
			i++
			data, err := os.ReadFile(words[i])
			if err != nil {
				t.Fatal(err)
			}
			in = bytes.NewReader(data)
		case words[i] == ">":
			i++
			to = words[i]
		default:
			args = append(args, words[i])
		}
	}
	if args[0] != "vzones" {
		t.Fatalf("%s: not of this tool", line)
	}
	if status := run(args[1:], in, &out, &stderr); status != success {
		t.Errorf("%s: status %d: %s", line, status, &stderr)
	}
	if to != "" {
		if err := os.WriteFile(to, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The reference page contains the help texts, with common flags listed once. -update writes it.
func TestReference(t *testing.T) {
	const path = "../../docs/reference/vzones.md"
	const head = "<!-- The rest is written by go test ./cmd/vzones -run TestReference -update. -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(data), head)
	if !ok {
		t.Fatalf("%s does not have the line %q", path, head)
	}
	nodes, _, err := commands()[0].Find([]string{"nodes"})
	if err != nil {
		t.Fatal(err)
	}
	common := nodes.LocalFlags()
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n## Flags of most commands\n\nOnly `nodes` and `plan` take `-l`. `explain` and `map` have their own values of `-o`. `convert` and\n`check --offline` take none of these flags.\n\n```text\n%s```\n", before, head, common.FlagUsages())
	for _, cmd := range commands() {
		if cmd.Hidden || cmd.Name() == "version" || cmd.Name() == "completion" {
			continue
		}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if c := common.Lookup(f.Name); c == nil || c.Usage != f.Usage {
				own.AddFlag(f)
			}
		})
		fmt.Fprintf(&b, "\n## `%s`\n\n```text\n", cmd.CommandPath())
		if cmd.Runnable() {
			fmt.Fprintf(&b, "Usage: %s\n\n", cmd.UseLine())
		}
		b.WriteString(cmd.Long + "\n")
		if usage := own.FlagUsages(); usage != "" {
			b.WriteString("\n" + usage)
		}
		b.WriteString("```\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != string(data) && !*update {
		t.Errorf("%s is not current: run go test ./cmd/vzones -run TestReference -update", path)
	}
}

// A failure takes precedence over findings, and warnings do not change the status.
func TestStatuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"right.yaml": aYAML, "invalid.yaml": "vcentre:\n", "idle.conf": "[Disk]\n" + anINI} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]int{
		"check --offline right.yaml idle.conf":                   success,
		"check --offline invalid.yaml right.yaml":                findings,
		"check --offline " + noFile + " invalid.yaml":            failure,
		"check --offline invalid.yaml " + noFile + " right.yaml": failure,
		"convert --effective idle.conf":                          success,
		"convert --effective invalid.yaml":                       findings,
		"convert idle.conf":                                      success,
		"convert invalid.yaml":                                   findings,
		"convert":                                                failure,
		"--help":                                                 success,
		"convert --help":                                         success,
		"version":                                                success,
		"no-such-command":                                        failure,
	} {
		if got := run(strings.Fields(args), nil, io.Discard, io.Discard); got != want {
			t.Errorf("%s: status %d, want %d", args, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"vsphere.yaml": aYAML, "invalid.yaml": "vcentre:\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A shell's <(…) is a named pipe, too.
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  string
		stdin io.Reader
		want  string
	}{
		{args: "check --offline " + noFile, want: noFile},
		{args: "check --offline .", want: "is not a regular file, but a directory"},
		{args: "check --offline pipe", want: "pipe: is not a regular file, but a named pipe: use - and pipe it to standard input"},
		{args: "convert --effective " + noFile, want: noFile},
		{args: "convert " + noFile, want: noFile},
		{args: "check --offline -", stdin: iotest.ErrReader(errors.New("broken")), want: "reading standard input: broken"},
		{args: "convert --effective vsphere.yaml", want: "writing to standard output: full"},
		{args: "convert vsphere.yaml", want: "writing to standard output: full"},
		{args: "convert vsphere.yaml --secret -", want: "writing to standard output: full"},
		{args: "convert vsphere.yaml --secret vsphere.yaml", want: "file exists"},
		{args: "convert vsphere.yaml --secret no/such/folder", want: "no such file or directory"},
		{args: "check --offline invalid.yaml", want: "writing to standard output: full"},
		{args: "check --offline - -", stdin: strings.NewReader(aYAML), want: "standard input (-) is given twice"},
		{args: "convert vsphere.yaml --secret s.yaml", want: "writing to standard output: full"},
		{args: "convert vsphere.yaml --namespace A.b", want: `"A.b" is not a valid name of a namespace`},
	} {
		var stderr bytes.Buffer
		status := run(strings.Fields(c.args), c.stdin, fullDisk{}, &stderr)
		if status != failure || !strings.HasPrefix(lastLine(stderr.String()), "Error: ") || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: status %d: %s", c.args, status, &stderr)
		}
		if strings.Contains(stderr.String(), "S3cret") {
			t.Errorf("%s: shows the password", c.args)
		}
		if _, err := os.Stat("s.yaml"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: leaves the Secret behind: %v", c.args, err)
		}
	}
}

// A recording is binary, and is read only after the check.
func TestRecordingIsNotWrittenToTerminal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("terminals are made on Linux")
	}
	out, err := fixture.RunInTerminal(exec.CommandContext(t.Context(), "vzones", "record", "-o", "-", "-c", noFile), 80)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != failure || !strings.Contains(string(out), "standard output is a terminal") {
		t.Errorf("vzones record -o - in a terminal printed %q and returned %v", out, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("full") }

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
