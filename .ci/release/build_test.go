package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hostile gives the machine settings that would get into what is built: flags, a file of
// settings with an experiment, and a umask. Modules still come from where they came from.
func hostile(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env", "-json"}, passedOn...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]string
	if err := json.Unmarshal(out, &settings); err != nil {
		t.Fatal(err)
	}
	text := "GOEXPERIMENT=jsonv2\nGOFLAGS=-race\n"
	for name, value := range settings {
		text += name + "=" + value + "\n"
	}
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", file)
	t.Setenv("GOFLAGS", "-gcflags=-N -ldflags=-compressdwarf=false -mod=mod")
	t.Setenv("GOEXPERIMENT", "")
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	old := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(old) })
}

// small returns a folder with our Makefile and a command, which is built in seconds.
func small(t *testing.T) *tree {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	build, err := os.ReadFile("../build")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Makefile":          string(makefile),
		".ci/build":         string(build),
		"LICENSE":           "ours",
		"go.mod":            "module vzones\n\ngo 1.26.0\n",
		"cmd/small/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(len(os.Args)) }\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &tree{dir: dir, version: "v1.37.0"}
}

// TestBuildIsTheSame: settings of the machine change neither a binary nor the licenses.
func TestBuildIsTheSame(t *testing.T) {
	p := platform{"linux", "amd64"}
	build := func() ([]byte, map[string][]byte) {
		sources := small(t)
		binary, err := sources.build(t.Context(), "small", p)
		if err != nil {
			t.Fatal(err)
		}
		licenses, err := sources.licenses(t.Context(), "small", p)
		if err != nil {
			t.Fatal(err)
		}
		return binary, licenses
	}
	binary, licenses := build()
	hostile(t)
	again, licensesAgain := build()
	if !bytes.Equal(binary, again) {
		t.Errorf("two binaries differ, of %d and %d bytes", len(binary), len(again))
	}
	for name, text := range licenses {
		if !bytes.Equal(text, licensesAgain[name]) {
			t.Errorf("two texts of %s differ", name)
		}
	}
}

// TestPassedOn: modules come from where the machine's file of settings says.
func TestPassedOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("GOPROXY=https://proxy.example.com\nGONOSUMDB=example.com/*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", file)
	for _, name := range []string{"GOPROXY", "GONOSUMDB"} {
		t.Setenv(name, "")
	}
	sources := small(t)
	env, err := sources.env(t.Context(), platform{"linux", "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := output(sources.command(t.Context(), env, "go", "env", "GOPROXY", "GONOSUMDB", "GOFLAGS", "GOARCH"))
	if want := "https://proxy.example.com\nexample.com/*\n-mod=readonly\narm64\n"; err != nil || string(got) != want {
		t.Errorf("%v: %s\nwant\n%s", err, got, strings.TrimSpace(want))
	}
}
